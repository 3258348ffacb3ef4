"""What a shell command is: parsed, freed of its wrappers, and named. Never guessed from a substring."""

from retro.commands.meaning import Meaning, meaning, meanings
from retro.commands.parsing import Simple, parsed
from retro.commands.tables import Kind

__all__ = ["Kind", "Meaning", "Simple", "meaning", "meanings", "parsed"]
