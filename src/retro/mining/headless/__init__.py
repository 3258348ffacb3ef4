"""Asking an agent's own client what a session teaches: only where a method of these is named."""
