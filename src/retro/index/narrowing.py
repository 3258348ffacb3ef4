"""What narrows a search, as SQLite is told it: marks in the index of words, and conditions on rows."""

from __future__ import annotations

from retro import terms

TYPE_CHECKING = False  # as in places: this is on the light path
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from retro.index.hits import Filters


def marks(filters: Filters) -> Iterable[str]:
    """Phrases in `scope` that every passage has which passes; some that have them do not pass."""
    for kind, value in (
        (terms.HOST, filters.host),
        (terms.PROJECT, filters.project),
        (terms.BRANCH, filters.branch),
        (terms.TOOL, filters.tool),
        (terms.FAILED, "" if filters.errors else None),
    ):
        if value is not None:
            yield f'scope : "{terms.mark(kind, value)}"'
    if filters.clones is not None and len(filters.clones) <= _MOST_CLONES:
        yield " OR ".join(f'scope : "{terms.mark(terms.CLONE, str(clone))}"' for clone in filters.clones or [0])


_MOST_CLONES = 50
_OF_SESSION = {
    "host": "host = :host",
    "clones": "clone IN (SELECT value FROM json_each(:clones))",
    "project": "lower(:project) IN (lower(project), lower(repository))"
    " OR substr(lower(repository), -length(:project) - 1) = '/' || lower(:project)",
}
_OF_PASSAGE = {
    "since": "coalesce(passage.started, (SELECT ended FROM session WHERE id = passage.session)) >= :since",
    "until": "coalesce(passage.started, (SELECT started FROM session WHERE id = passage.session)) < :until",
    "branch": "passage.branch = :branch",
    "model": "instr(lower(passage.model), lower(:model))",
    "file": "instr(lower(passage.files), lower(:file))",
    "tool": "instr(char(10) || lower(passage.tools) || char(10), char(10) || lower(:tool) || char(10))",
}


def conditions(filters: Filters) -> tuple[list[str], dict[str, Any]]:
    """Conditions on the rows of passages, and the values in them."""
    values: dict[str, Any] = {}
    given: list[str] = []
    of_session: list[str] = []
    for name, condition in _OF_SESSION.items():
        if getattr(filters, name) is not None:
            value = getattr(filters, name)
            values[name] = f"[{','.join(map(str, value))}]" if name == "clones" else value
            of_session.append(f"({condition})")
    for name, condition in _OF_PASSAGE.items():
        if getattr(filters, name) is not None:
            values[name] = getattr(filters, name)
            given.append(condition)
    if of_session:
        given.append(f"passage.session IN (SELECT id FROM session WHERE {' AND '.join(of_session)})")  # noqa: S608
    if filters.errors:
        given.append("passage.errors")
    return given, values
