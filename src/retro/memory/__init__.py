"""Memories: what is kept for later sessions, how it is found, and whether it helped."""
