"""What the pages about agents say of bookkeeping is what the code does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from retro import agents

PAGES = Path(__file__).resolve().parents[1] / "docs" / "agents"


def rows(types: Mapping[str, str]) -> str:
    """A table's rows, as they must stand on the page."""
    return "".join(f"| `{kind}` | {reason} |\n" for kind, reason in types.items())


def tables(page: str) -> list[str]:
    """The rows of the tables below the heading "Bookkeeping", in order."""
    found = re.findall(r"^\| -+ \| -+ \|\n((?:\|.*\n)*)", page[page.index("\n## Bookkeeping\n") :], re.MULTILINE)
    return [str(table) for table in found]


@pytest.mark.parametrize("host", [host for host in agents.MODULES if (PAGES / f"{host}.md").exists()])
def test_the_page_lists_every_bookkeeping_type_with_its_reason(host: str) -> None:
    agent = agents.named(host)
    page = (PAGES / f"{host}.md").read_text(encoding="utf-8")
    assert tables(page)[:2] == [rows(agent.BOOKKEEPING_TYPES), rows(agent.UNCOUNTED)]
