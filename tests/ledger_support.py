"""What the tests of the ledger share: homes of two agents, archives of them, and what was spent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from retro.config import Settings
from retro.ledger import calendar, reports
from retro.ledger.columns import SUMS
from retro.ledger.reports import Amount, Wanted
from retro.ledger.tables import Tables
from retro.places import Places
from retro.sweep import sweep

UTC = calendar.zone("UTC")
ALL = Wanted()
STAMP = "2026-02-01T10:00:00.000Z"
MODEL = "claude-opus-4-8"
"""Microdollars a token: input 5, output 25, cache write 6.25 (5 min) and 10 (1 h), cache read 0.5."""


class Spent(NamedTuple):
    """What was spent in all."""

    requests: int
    input: int
    write_5m: int
    write_1h: int
    read: int
    output: int
    cost: int


class Lab:
    """A home with sessions of two agents, and an archive of it."""

    def __init__(self, folder: Path, name: str = "archive", config: Path | None = None) -> None:
        self.folder = folder
        self.claude_home, self.codex_home = folder / "claude", folder / "codex"
        self.root = folder / name
        self.settings = Settings(str((config or folder / "config") / "config.toml"), {("sweep", "workers"): 1})

    @property
    def environment(self) -> dict[str, str]:
        """Where the sessions lie."""
        return {
            "HOME": "/nonexistent",
            "CLAUDE_CONFIG_DIR": str(self.claude_home),
            "CODEX_HOME": str(self.codex_home),
        }

    def claude(self, session: str, *records: Mapping[str, object], project: str = "-home-dev-code") -> Path:
        """Write a session of Claude Code."""
        return _write(self.claude_home / "projects" / project / f"{session}.jsonl", records)

    def codex(self, thread: str, *records: Mapping[str, object]) -> Path:
        """Write a rollout of Codex."""
        return _write(self.codex_home / "sessions/2026/02/01" / f"rollout-2026-02-01T10-00-00-{thread}.jsonl", records)

    def sweep(self) -> None:
        """Capture what is new."""
        report = sweep(Places(str(self.root)), self.settings, self.environment)
        assert report.failed == 0, report

    @property
    def index(self) -> apsw.Connection:
        """The index, to be read."""
        return apsw.Connection(str(self.root / "index.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)

    def spent(self, wanted: Wanted = ALL) -> Spent:
        """What was spent in all."""
        return figures(reports.spent_between(self.index, wanted))

    def by_day(self, wanted: Wanted = ALL) -> dict[Any, Spent]:
        """The same by day in UTC."""
        days = reports.days(self.index, wanted, UTC).items()
        return {calendar.day_name(day) if day is not None else None: figures(amount) for (day, _), amount in days}

    def by_session(self, wanted: Wanted = ALL) -> dict[str, Spent]:
        """The same by session."""
        return {one.session_id: figures(one.amount) for one in reports.sessions(self.index, wanted)}

    def truth(self) -> dict[str, object]:
        """Everything that the ledger's tables say, by the names that the hosts gave."""
        return truth(self.index)


def truth(connection: apsw.Connection) -> dict[str, object]:
    """Everything that the ledger's tables say, by the names that the hosts gave."""
    tables = Tables(connection)
    text = tables.labels.text
    copies = {}
    for copy in tables.copies("1", ()):
        owner = tables.owner(copy.owner)
        taken = copy.taken and (tables.owner(copy.taken[0]).session_id, copy.taken[1])
        name = (owner.host, owner.session_id, copy.usage_id, copy.request_id)
        where = (copy.source, copy.line, copy.turn, copy.agent, copy.model, copy.native)
        copies[name] = (where, copy.numbers, tables.price_hash(copy.price), copy.counted, copy.cost, taken)
    everything, of_sessions = {}, {}
    columns = ", ".join(SUMS)
    query = f"SELECT quarter, host, project, model, agent, {columns}, first, last FROM spent WHERE requests > 0"
    for quarter, host, project, model, agent, *sums in connection.execute(query):
        everything[quarter, text(_int(host)), text(_int(project)), text(_int(model)), agent] = sums
    query = f"SELECT owner, quarter, model, agent, {columns}, first, last FROM session_spent WHERE requests > 0"
    for owner, quarter, model, agent, *sums in connection.execute(query):
        of_sessions[tables.owner(_int(owner)).session_id, quarter, text(_int(model)), agent] = sums
    by_hour, totals = {}, {}
    query = f"SELECT hour, host, project, model, agent, {columns}, first, last FROM spent_hour WHERE requests > 0"
    for hour, host, project, model, agent, *sums in connection.execute(query):
        by_hour[hour, text(_int(host)), text(_int(project)), text(_int(model)), agent] = sums
    query = f"SELECT owner, model, whole, {columns}, first, last FROM session_total WHERE requests > 0"
    for owner, model, whole, *sums in connection.execute(query):
        totals[tables.owner(_int(owner)).session_id, text(_int(model)), whole] = sums
    query = f"SELECT day, host, project, model, agent, {columns}, first, last FROM spent_day WHERE requests > 0"
    by_day = {}
    for day, host, project, model, agent, *sums in connection.execute(query):
        by_day[day, text(_int(host)), text(_int(project)), text(_int(model)), agent] = sums
    by_host = {}
    query = f"SELECT hour, host, model, {columns}, first, last FROM spent_host WHERE requests > 0"
    for hour, host, model, *sums in connection.execute(query):
        by_host[hour, text(_int(host)), text(_int(model))] = sums
    owners = sorted(connection.execute("SELECT host, session_id, started, project, parent, subagent FROM owner"))
    of_all = {
        "spent": everything,
        "sessions": of_sessions,
        "hours": by_hour,
        "days": by_day,
        "hosts": by_host,
        "totals": totals,
    }
    return {"copies": copies, **of_all, "owners": owners}


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def figures(amount: Amount) -> Spent:
    """An amount as a plain row."""
    return Spent(
        amount.requests,
        amount.input,
        amount.cache_write_5m,
        amount.cache_write_1h,
        amount.cache_read,
        amount.output,
        amount.cost,
    )


def _write(path: Path, records: Iterable[Mapping[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records), "utf-8")
    return path


# --- records of Claude Code ------------------------------------------------------------------------------------------


def said(
    message: str | None,
    session: str,
    *,
    uuid: str = "",
    at: str = STAMP,
    request: str | None = "",
    model: str = MODEL,
    done: bool = True,
    usage: Mapping[str, object] | None = None,
    output: int = 10,
    **more: object,
) -> dict[str, object]:
    """A line of a message of the model; 100 tokens in and 10 out unless it says otherwise."""
    record: dict[str, object] = {
        "type": "assistant",
        "uuid": uuid or f"{session[:4]}-{message}-{at}-{output}",
        "sessionId": session,
        "timestamp": at,
        "cwd": "/home/dev/code",
        "version": "2.1.300",
        "message": {
            **({"id": message} if message else {}),
            "role": "assistant",
            "model": model,
            "stop_reason": "end_turn" if done else None,
            "content": [{"type": "text", "text": f"words {output}"}],
            "usage": usage or {"input_tokens": 100, "output_tokens": output},
        },
        **more,
    }
    if request is not None:
        record["requestId"] = request or f"req_{message}"
    return record


# --- records of Codex ------------------------------------------------------------------------------------------------


def line(kind: str, payload: Mapping[str, object], at: str = STAMP, **more: object) -> dict[str, object]:
    """An enveloped record."""
    return {"timestamp": at, **more, "type": kind, "payload": payload}


def meta(thread: str, at: str = STAMP, **more: object) -> dict[str, object]:
    """The first record of a rollout."""
    fields = {"id": thread, "timestamp": at, "cwd": "/home/dev/code", "originator": "codex_cli_rs", **more}
    return line("session_meta", {**fields, "cli_version": "0.104.0"}, at)


def context(model: str, at: str = STAMP, **more: object) -> dict[str, object]:
    """What a turn is done with."""
    return line("turn_context", {"cwd": "/home/dev/code", "model": model, **more}, at)


def tokens(given: int, cached: int = 0, output: int = 0, reasoning: int = 0, written: int = 0) -> dict[str, int]:
    """Counts as Codex writes them."""
    return {
        "input_tokens": given,
        "cached_input_tokens": cached,
        "cache_write_input_tokens": written,
        "output_tokens": output,
        "reasoning_output_tokens": reasoning,
        "total_tokens": given + output,
    }


def count(
    total: Mapping[str, int] | None, last: Mapping[str, int] | None = None, at: str = STAMP, **more: object
) -> dict[str, object]:
    """A `token_count`."""
    info = None if total is None else {"total_token_usage": total, **({"last_token_usage": last} if last else {})}
    return line("event_msg", {"type": "token_count", "info": info, **more}, at)


def recorded(thread: str, ordinal: int, usage: Mapping[str, int], at: str = STAMP) -> dict[str, object]:
    """A `token_usage_record`."""
    payload = {"thread_id": thread, "response_id": f"resp_{thread[-2:]}_{ordinal}", "usage": usage}
    return line("token_usage_record", payload, at, ordinal=ordinal)
