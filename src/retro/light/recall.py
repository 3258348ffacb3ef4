"""`retro recall`: what was done in this repository, in a few tokens and a few milliseconds.

An agent asks this at prompt time. Three tiers, each with a promise of what it costs at most: what there is (50
tokens), what is known of something (200), one session (500).
"""

from __future__ import annotations

import os
import time

import apsw

from retro import config
from retro.failure import WRONG_USAGE, Failure, did_you_mean
from retro.index.database import explained, open_reader
from retro.light import answers, calls, freshness, page, scope
from retro.light.arguments import USAGE, Arguments, parse
from retro.light.words import ago, limit_of
from retro.places import Places, find_root

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from retro.light.answers import Ask, Reply

WAIT_MS = 1500
"""How long to wait for an index that another program has locked."""

JSON_TOKENS = 250
"""What ten rows may take as JSON, and one session twice of it."""

WORDS = 10_000
"""As many as anybody likes."""

# Verb: its tier, the tokens of its text, what answers it, and how many words may follow it.
VERBS: dict[str, tuple[int, int, Callable[[Ask], Reply], int]] = {
    "": (1, 50, answers.overview, 0),
    "files": (1, 50, answers.files, 0),
    "list": (1, 50, answers.sessions, 0),
    "search": (2, 200, answers.search, WORDS),
    "checkpoints": (2, 200, answers.checkpoints, 0),
    "repos": (2, 200, answers.repositories, 0),
    "show": (3, 500, answers.show, 1),
}


def run(arguments: Sequence[str], options: Mapping[str, str | bool]) -> int:
    """Answer one call, and give the exit code. What is wrong is raised as a `Failure`."""
    began = time.perf_counter()
    given = parse(arguments, options)
    verb = given.words[0] if given.words else ""
    if verb not in VERBS:
        raise Failure("usage", f'recall has no "{verb[:80]}"', did_you_mean(verb, VERBS) or USAGE, WRONG_USAGE)
    tier, _, _, words = VERBS[verb]
    if len(given.words) - 1 > words:
        raise Failure("usage", f'"{given.words[words + 1][:80]}" is one word too many', USAGE, WRONG_USAGE)
    root = given.texts.get("--root")
    settings = config.load(given.texts.get("--config"), os.environ, root=root)
    places = Places(find_root(root, os.environ, settings).path)
    answer, rows, code = b"", 0, 0
    try:
        answer, rows = _answer(places, verb, given)
        page.put(answer)
    except Failure as failure:
        code = failure.exit_code
        raise
    finally:
        if settings.telemetry:
            spent = (time.perf_counter() - began) * 1000
            kind = verb or "recall"
            calls.note(places, kind, tier, spent, rows, len(answer), json=given.has("--json"), exit_code=code)
    return 0


def _answer(places: Places, verb: str, given: Arguments) -> tuple[bytes, int]:
    """What to print, and how many rows it has."""
    limit = _limit(verb, given)
    connection = open_reader(places, wait_ms=WAIT_MS)
    if connection is None:
        return _nothing(given, limit, "Nothing is captured yet; retro sweep does it.")
    try:
        connection.execute("BEGIN")  # one state of the index for all that is asked
        return _asked(connection, verb, given, limit)
    except apsw.Error as error:
        raise explained(error, places.index) from None
    finally:
        connection.close()


def _asked(connection: apsw.Connection, verb: str, given: Arguments, limit: int | None) -> tuple[bytes, int]:
    wide = given.has("--all") or verb == "repos"
    where = scope.everything(connection) if wide else scope.here(connection)
    if where is None:
        return _nothing(given, limit, "This folder is in no git repository; --all looks everywhere.")
    known = freshness.look(connection, where)
    now = time.time()
    ask = answers.Ask(connection, where, given, limit, now)
    reply = VERBS[verb][2](ask)
    if not reply.rows:
        place = "" if where.wide else f" in {where.name}"
        return _nothing(given, limit, f"No {reply.kind} known{place}.", reply.content)
    if given.has("--json"):
        about: dict[str, object] = {} if where.wide else {"repository": where.name}
        if known.changed:
            about |= {"as_of": known.as_of, "changed_since": known.changed}
        return page.objects({**about, **reply.content}, limit), reply.rows
    about_text = f", as of {ago(known.as_of, now)} ago" if known.changed else ""
    return page.fenced(reply.lines, limit, about_text + reply.about, reply.more).encode("utf-8", "replace"), reply.rows


def _nothing(
    given: Arguments, limit: int | None, words: str, content: dict[str, object] | None = None
) -> tuple[bytes, int]:
    """An answer without rows, in our own words."""
    if given.has("--json"):
        return page.objects({"note": words, **(content or {})}, limit), 0
    data = f"{words}\n".encode()
    return (data if limit is None or len(data) <= limit else b"Nothing known.\n"), 0


def _limit(verb: str, given: Arguments) -> int | None:
    """Bytes that the answer may have: what was asked for, else the promise, unless rows or all of it were asked for."""
    tokens = given.number("--budget")
    if tokens is None and not given.has("--full") and given.number("--limit") is None:
        tier, promise = VERBS[verb][:2]
        tokens = promise if not given.has("--json") else JSON_TOKENS * (2 if tier == 3 else 1)
    return None if tokens is None else limit_of(tokens)
