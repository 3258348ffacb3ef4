"""`AGENTS.md` in a repository's main folder, which many hosts read: no host of its own, only its instructions."""

from __future__ import annotations

import os
from collections.abc import Mapping

from retro.agents.interface import InstructionFile


def instructions(env: Mapping[str, str], folder: str) -> InstructionFile:
    """The file of the project in `folder`."""
    return InstructionFile(os.path.join(folder, "AGENTS.md"))
