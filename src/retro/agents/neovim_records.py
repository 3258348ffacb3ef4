"""What the rows of a chat of Neovim's plug-ins mean."""

from __future__ import annotations

from typing import ClassVar

from retro.agents.chats import ChatReader
from retro.agents.fields import Fields, mapping
from retro.agents.neovim_kinds import BOOKKEEPING_TYPES, HOST, PROJECT


class NeovimReader(ChatReader):
    """Reads the rows of one chat."""

    HOST: ClassVar[str] = HOST
    BOOKKEEPING_TYPES = BOOKKEEPING_TYPES

    def tell(self, fields: Fields) -> str:
        """Add what a row says."""
        if fields.get("table") == PROJECT:
            self.work_in(mapping(fields.get("row")).get("project_root"))
        return super().tell(fields)
