"""The rows of Neovim's chats that give no event."""

from __future__ import annotations

from typing import Final

from retro.agents import chatfiles

HOST: Final = "neovim"
PROJECT: Final = "project"

BOOKKEEPING_TYPES: Final = {
    PROJECT: "which folder the chats of avante.nvim are about; the session has it",
}
"""Rows that give no event, each with the reason."""

UNCOUNTED: Final = chatfiles.UNCOUNTED
"""Rows of which some give an event and some do not."""
