"""A ledger of very many requests, as sweeps of years would leave it: two agents, projects, sessions with sub-agents."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from typing import Final

import apsw

from retro.event import Usage
from retro.index.database import open_writer
from retro.ledger.calendar import timestamp
from retro.ledger.prices import Prices, snapshot
from retro.ledger.tables import Owner
from retro.ledger.writing import Ledger
from retro.places import Places, init_root

MODELS: Final = {
    "claude": ("claude-opus-4-8", "claude-sonnet-4-6", "claude-haiku-4-5-20251001"),
    "codex": ("gpt-5.5", "gpt-5.5", "gpt-5.4"),
}
PROJECTS: Final = 20
REQUESTS: Final = 400
"""Of a session, about."""
DAYS: Final = 720
BATCH: Final = 50


def fill(root: str, records: int, seed: int = 7) -> int:
    """Make an archive whose ledger holds so many requests; gives the number of sessions."""
    init_root(root)
    places = Places(root)
    connection = open_writer(places.index)
    ledger = Ledger(connection, places.ledger, lambda: Prices([snapshot()]))
    sessions = 0
    try:
        waiting = list(_sessions(records, random.Random(seed), int(time.time() * 1000)))
        for begin in range(0, len(waiting), BATCH):
            with connection:
                for owner, usage in waiting[begin : begin + BATCH]:
                    _put_session(connection, owner)
                    ledger.add(owner, usage)
                    sessions += 1
                ledger.settle()
    finally:
        ledger.close()
        connection.close()
    return sessions


def _put_session(connection: apsw.Connection, owner: Owner) -> None:
    query = "INSERT INTO session (host, session_id, title, project, captured) VALUES (?, ?, ?, ?, ?)"
    values = (owner.host, owner.session_id, f"work on {owner.project}", owner.project, owner.started)
    connection.execute(query, values)


def _sessions(records: int, chance: random.Random, now: int) -> Iterator[tuple[Owner, list[Usage]]]:
    done = 0
    while done < records:
        host = chance.choice(("claude", "claude", "codex"))
        count = min(chance.randrange(REQUESTS // 4, REQUESTS * 2), records - done)
        name = f"{chance.getrandbits(32):08x}-0000-4000-8000-{done:012d}"
        begin = now - chance.randrange(DAYS * 86_400) * 1000
        owner = Owner(host, name, timestamp(begin) or "", f"project-{chance.randrange(PROJECTS)}", "", False)
        yield owner, [_usage(owner, number, begin + number * 20_000, chance) for number in range(count)]
        done += count


def _usage(owner: Owner, number: int, at: int, chance: random.Random) -> Usage:
    return Usage(
        usage_id=f"msg_{owner.session_id}_{number}",
        request_id=f"req_{owner.session_id}_{number}",
        session_id=owner.session_id,
        host=owner.host,
        source="main",
        line=number * 3,
        timestamp=timestamp(at),
        model=MODELS[owner.host][chance.randrange(40) // 18],
        turn=number // 20 + 1,
        agent_id="a1" if number % 10 == 9 else None,
        input_tokens=chance.randrange(5000),
        cache_write_5m_tokens=chance.randrange(3000),
        cache_read_tokens=chance.randrange(150_000),
        output_tokens=chance.randrange(2000),
    )


if __name__ == "__main__":
    import sys

    began = time.monotonic()
    print(fill(sys.argv[1], int(sys.argv[2])), "sessions,", round(time.monotonic() - began, 1), "s")
    print(os.path.getsize(Places(sys.argv[1]).index), "bytes of index")
