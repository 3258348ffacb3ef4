"""Whether an index has the tables that this version of retro makes."""

from __future__ import annotations

import apsw

from retro.index.database import rows, schema

_NAMES = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"


def drift(connection: apsw.Connection) -> list[str]:
    """What differs from the schema, in words; nothing where the index is as it should be."""
    fresh = apsw.Connection(":memory:")
    try:
        fresh.execute(schema())
        wanted, found = _shapes(fresh), _shapes(connection)
    finally:
        fresh.close()
    missing = [f"{kind} {name} is missing" for kind, name in wanted.keys() - found.keys()]
    changed = [
        f"{kind} {name} is not as it was made"
        for kind, name in wanted.keys() & found.keys()
        if wanted[kind, name] != found[kind, name]
    ]
    foreign = [f"{kind} {name} is not ours" for kind, name in found.keys() - wanted.keys()]
    return sorted(missing) + sorted(changed) + sorted(foreign)


def _shapes(connection: apsw.Connection) -> dict[tuple[str, str], str]:
    return {(kind, name): " ".join((sql or "").split()) for kind, name, sql in rows(connection, _NAMES)}
