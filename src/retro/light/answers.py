"""What each verb of recall answers: lines for the text form, most important first, and an object for `--json`."""

from __future__ import annotations

from retro.failure import WRONG_USAGE, Failure
from retro.light import looking
from retro.light.arguments import USAGE
from retro.light.words import ago, clean, cut, cut_left, size

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from typing import Any

    import apsw

    from retro.index.hits import Found, Hit
    from retro.light.arguments import Arguments
    from retro.light.looking import Session, Turn
    from retro.light.scope import Scope

ROWS = 10
"""Rows, where no other number is asked for."""

FENCE = 44
"""Bytes of a fence, about."""

OBJECT = 110
"""Bytes of what stands around the rows of an object, about."""

LINE = 38
"""Bytes that a session's line should have at least."""

LEAST = 24
"""Bytes of a row's words, however little room there is."""

TURNS = 3
"""Turns of a session, where no other number is asked for."""

HITS = 5
"""Hits of a search in its text form."""

SPARE = 3
"""So many more are looked for, in case some say the same."""

MARKS = 3
"""Marks in one text; each takes tokens."""

WHOLE = 1_000_000


class Ask:
    """What was asked for, and of what."""

    __slots__ = ("connection", "given", "limit", "now", "rows", "scope")

    def __init__(
        self, connection: apsw.Connection, scope: Scope, given: Arguments, limit: int | None, now: float
    ) -> None:
        self.connection, self.scope, self.given, self.limit, self.now = connection, scope, given, limit, now
        self.rows = given.number("--limit") or ROWS

    def share(self, parts: int, around: int, row: int = 0) -> int:
        """Bytes for the words of each of so many rows that take `row` bytes beside them."""
        if self.limit is None:
            return WHOLE
        room = self.limit - (OBJECT if self.given.has("--json") else FENCE) - around
        return max(LEAST, room // max(parts, 1) - row - 1)


class Reply:
    """An answer, not yet cut to its size."""

    __slots__ = ("about", "content", "kind", "lines", "more", "rows")

    def __init__(self, kind: str, lines: list[str], content: dict[str, Any], rows: int, more: int = 0) -> None:
        self.kind = kind
        """What there is none of, if there are no rows."""
        self.lines = lines
        self.content = content
        self.rows = rows
        self.more = more
        """What was left out before, to be said."""
        self.about = ""
        """What is to be said of all lines."""


# --- tier 1 ----------------------------------------------------------------------------------------------------------


def overview(ask: Ask) -> Reply:
    """The files edited last in one line, and the last sessions in a line each."""
    found = looking.files(ask.connection, ask.scope, ask.rows)
    sessions = looking.sessions(ask.connection, ask.scope, ask.rows)
    if ask.given.has("--json"):
        names = [file.path for file in found[: ask.rows // 2]]
        around = sum(size(name) + 3 for name in names)
        return Reply("session", [], {"files": names, "sessions": _rows(ask, sessions, around)}, len(sessions))
    lines = []
    if found:
        room = WHOLE if ask.limit is None else max((ask.limit - FENCE) * 2 // 5, 30)
        lines.append(_joined([file.path for file in found], room))
    if ask.limit is not None:
        rest = ask.limit - FENCE - sum(size(line) + 1 for line in lines)
        sessions = sessions[: max(rest // LINE, 1)]
    around = sum(size(line) + 1 for line in lines)
    lines += _lines(ask, sessions, around, host=False)
    return Reply("session", lines, {}, len(lines))


def files(ask: Ask) -> Reply:
    """The files edited last, each with when and by which session."""
    found = looking.files(ask.connection, ask.scope, ask.rows)
    fields = [{"path": file.path, "age": ago(file.at, ask.now), "id": file.session} for file in found]
    share = ask.share(3, 0)
    lines = []
    for row in fields:
        beside = f" {row['age']} {row['id']}"
        lines.append(cut_left(row["path"], max(share - size(beside), LEAST)) + beside)
    return Reply("edited file", lines, {"files": fields}, len(fields))


def sessions(ask: Ask) -> Reply:
    """The last sessions, a line each."""
    found = looking.sessions(ask.connection, ask.scope, ask.rows)
    if ask.given.has("--json"):
        return Reply("session", [], {"sessions": _rows(ask, found, 0)}, len(found))
    fits = len(found) if ask.limit is None else max((ask.limit - FENCE) // LINE, 1)
    kept = found[:fits]
    lines = _lines(ask, kept, 12 if len(kept) < len(found) else 0, host=True)
    return Reply("session", lines, {}, len(kept), len(found) - len(kept))


def _lines(ask: Ask, found: list[Session], around: int, *, host: bool) -> list[str]:
    lines = []
    for session in found:
        beside = f"{session.short} {ago(session.ended, ask.now)} {f'{session.host} ' if host else ''}"
        lines.append(beside + cut(session.title, ask.share(len(found), around, size(beside))))
    return lines


def _rows(ask: Ask, found: list[Session], around: int) -> list[dict[str, str]]:
    rows = []
    for session in found:
        row = {"id": session.short, "host": session.host, "age": ago(session.ended, ask.now)}
        beside = sum(len(name) + size(value) + 6 for name, value in row.items()) + len('"title":"",')
        share = ask.share(len(found), around, beside)
        rows.append({**row, "title": cut(session.title, share if ask.limit is None else min(share, 200))})
    return rows


def _joined(names: list[str], room: int) -> str:
    """Names in one line, as many as there is room for; the first one in any case."""
    line = cut_left(names[0], room)
    for name in names[1:]:
        if size(line) + size(name) + 2 > room:
            break
        line = f"{line}, {name}"
    return line


# --- tier 2 ----------------------------------------------------------------------------------------------------------


def search(ask: Ask) -> Reply:
    """The turns that fit some words best: where, when, and what stands around the words."""
    text = " ".join(ask.given.words[1:])
    if not text.strip():
        raise Failure("usage", "what for?", 'retro recall search "words"', WRONG_USAGE)
    if not (ask.scope.wide or ask.scope.clones):
        return Reply("session", [], {"hits": []}, 0)
    wanted = ask.rows if ask.given.has("--json") or ask.limit is None or ask.given.number("--limit") else HITS
    from retro.index.hits import Filters  # only here, so that nobody else waits for it
    from retro.index.search import search as find

    filters = Filters(clones=None if ask.scope.wide else ask.scope.clones)
    found = find(ask.connection, text, filters, wanted + SPARE)
    hits = _told_once(found.hits)[:wanted]
    rows, lines = [], []
    for hit in hits:
        name = looking.short(ask.connection, hit.host, hit.session_id) + (f":{hit.turn}" if hit.turn else "")
        row = {"id": name, "age": ago(hit.started, ask.now)}
        beside = f"{name} {row['age']} "
        as_json = sum(len(key) + size(value) + 6 for key, value in row.items()) + len('"text":"",')
        share = ask.share(len(hits), 0, as_json if ask.given.has("--json") else size(beside))
        words = _around(hit, share)
        lines.append(beside + words)
        rows.append({**row, "text": words})
    reply = Reply(f"turn with {clean(text)[:80]!r}", lines, {"hits": rows}, len(rows))
    _say_how(reply, found)
    return reply


def _told_once(hits: list[Hit]) -> list[Hit]:
    """The hits without sessions of which a turn was found as well: that says more."""
    told = {hit.number for hit in hits if hit.turn}
    return [hit for hit in hits if hit.turn or hit.number not in told]


def _say_how(reply: Reply, found: Found) -> None:
    """What a reader has to know of a search to believe it."""
    if not found.all_words:
        reply.content["all_words"] = False
        reply.about += ", some of the words"
    if found.newest_only:
        reply.content["newest_only"] = True
        reply.about += ", newest only"


def _around(hit: Hit, room: int) -> str:
    """What stands around the words of a hit, with the words marked; the title where there is no text."""
    if not hit.snippets:
        return cut(clean(hit.prompt or hit.title or ""), room)
    snippet = hit.snippets[0]
    marks = snippet.marks[:MARKS]
    begin = max(0, min(marks[0][0] - room // 4, len(snippet.text) - room)) if marks else 0
    parts, at = ["…" if begin else ""], begin
    for start, end in marks:
        parts += [snippet.text[at:start], "«", snippet.text[start:end], "»"]
        at = end
    parts.append(snippet.text[at:])
    return cut(clean("".join(parts)), room)


def checkpoints(ask: Ask) -> Reply:
    """Summaries that hosts wrote when they compacted a context, newest first."""
    found = looking.checkpoints(ask.connection, ask.scope, ask.rows)
    lines, rows = [], []
    for one in found:
        row = {"id": one.session, "age": ago(one.at, ask.now)}
        text = clean(one.text)
        beside = f"{row['id']} {row['age']} "
        parts = min(len(found), 3 if ask.limit is not None else len(found))
        share = ask.share(parts, 0, 40 if ask.given.has("--json") else size(beside))
        lines.append(beside + cut(text, share))
        rows.append({**row, "text": cut(text, share)})
    return Reply("checkpoint", lines, {"checkpoints": rows}, len(rows))


def repositories(ask: Ask) -> Reply:
    """Where sessions worked: repositories, with how many sessions and when the last was."""
    local = ask.given.has("--include-local")
    found = looking.repositories(ask.connection, ask.rows, local=local)
    rows = [{"repository": one.name, "sessions": one.sessions, "age": ago(one.ended, ask.now)} for one in found]
    lines = [f"{row['repository']} {row['sessions']} {row['age']}" for row in rows]
    return Reply("repository" if local else "repository with a remote", lines, {"repositories": rows}, len(rows))


# --- tier 3 ----------------------------------------------------------------------------------------------------------


def show(ask: Ask) -> Reply:
    """One session: what it is, the files that it edited, its last turns; or those up to `ID:TURN`."""
    if len(ask.given.words) < 2:
        raise Failure("usage", "which session?", "retro recall show ID; retro recall list shows the ids", WRONG_USAGE)
    word, wanted = _named(ask, ask.given.words[1])
    session = looking.find(ask.connection, ask.scope, word)
    full = ask.given.has("--full")
    asked = ask.given.number("--turns") or (None if full else TURNS if wanted is None else 1)
    turns = looking.turns(ask.connection, session.number, asked, wanted)
    if wanted is not None and (not turns or turns[-1].number != wanted):
        raise Failure("not_found", f"session {session.short} has no turn {wanted}", USAGE)
    paths = looking.edited(ask.connection, session.number, 1000 if full else ROWS)
    if ask.given.has("--json"):
        return Reply("session", [], _object(ask, session, turns, paths), 1)
    words = [session.host, clean(session.id), ago(session.ended, ask.now), clean(session.branch or "")]
    head = [" ".join(filter(None, [*words, f"{session.turns} turns", f"{session.errors} errors"]))]
    if paths:
        head.append(_joined(paths, WHOLE if ask.limit is None else (ask.limit - FENCE) // 5))
    texts = _shared_out(_spoken(turns), ask.share(1, sum(size(line) + 1 for line in head) + 10 * len(turns)))
    lines = head
    for turn, (prompt, answer) in zip(turns, texts):  # noqa: B905 - Python 3.9 has no strict
        lines.append(f"{turn.number}> {prompt}")
        lines += [f"< {answer}"] if answer else []
    return Reply("session", lines, {}, 1)


def _named(ask: Ask, word: str) -> tuple[str, int | None]:
    """The id in `ID:TURN`, and the turn; an id may hold a colon of its own."""
    name, _, at = word.rpartition(":")
    if (
        name
        and at.isascii()
        and at.isdigit()
        and len(at) < 10
        and not looking.beginning(ask.connection, ask.scope, word)
    ):
        return name, int(at)
    return word, None


def _object(ask: Ask, session: Session, turns: list[Turn], paths: list[str]) -> dict[str, Any]:
    about: dict[str, Any] = {"id": clean(session.id), "host": session.host, "age": ago(session.ended, ask.now)}
    about |= {"title": cut(session.title, 120), "turns": session.turns, "errors": session.errors}
    around = size(str(about)) + sum(size(path) + 3 for path in paths) + 60 * len(turns)
    texts = _shared_out(_spoken(turns), ask.share(1, around))
    said = [
        {"turn": turn.number, "age": ago(turn.at, ask.now), "prompt": prompt, "answer": answer}
        for turn, (prompt, answer) in zip(turns, texts)  # noqa: B905
    ]
    return {"session": about, "files": paths, "last_turns": said}


def _spoken(turns: list[Turn]) -> list[tuple[str, str]]:
    return [(clean(turn.prompt), clean(turn.answer or "")) for turn in turns]


def _shared_out(texts: list[tuple[str, str]], room: int) -> list[tuple[str, str]]:
    """Texts cut so that together they fit; short ones leave their share to the longer ones."""
    waiting = sorted(size(text) for pair in texts for text in pair)
    share = room
    for at, length in enumerate(waiting):
        share = max(room // (len(waiting) - at), LEAST)
        if length > share:
            break
        room -= length
    return [(cut(prompt, share), cut(answer, share)) for prompt, answer in texts]
