"""The ledger beside what the real clients said themselves, when they were run: equal, or explained by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from retro.config import Settings
from retro.ledger import reports
from retro.ledger.reports import Amount, Wanted
from retro.places import Places
from retro.sweep import sweep

pytestmark = pytest.mark.corpus


class Tokens(NamedTuple):
    """Input that was not cached, written to and read from caches, and output."""

    input: int
    written: int
    read: int
    output: int

    def __sub__(self, other: Tokens) -> Tokens:
        return Tokens(*(a - b for a, b in zip(self, other, strict=True)))

    def plus(self, other: Tokens) -> Tokens:
        return Tokens(*map(sum, zip(self, other, strict=True)))


NOTHING = Tokens(0, 0, 0, 0)


@pytest.fixture(scope="module")
def index(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> apsw.Connection:
    """What the clients left, swept."""
    folder = tmp_path_factory.mktemp("live")
    places, settings = Places(str(folder / "archive")), Settings(str(folder / "config.toml"), {("sweep", "workers"): 1})
    for agent in ("claude", "codex", "copilot", "gemini", "grok", "opencode"):
        assert sweep(places, settings, {"HOME": str(corpus / "live" / agent / "home")}, hosts=[agent]).failed == 0
    return apsw.Connection(places.index, flags=apsw.SQLITE_OPEN_READONLY)


def by_session(index: apsw.Connection, host: str, *, own_only: bool = False) -> dict[str, Amount]:
    return {one.session_id: one.amount for one in reports.sessions(index, Wanted(host=host, own_only=own_only))}


def tokens(amount: Amount) -> Tokens:
    written = amount.cache_write_5m + amount.cache_write_1h
    return Tokens(amount.input, written, amount.cache_read, amount.output)


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """Every JSON object on a line of its own."""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("{") and line.endswith("}"):
            yield json.loads(line)


# --- Claude Code -----------------------------------------------------------------------------------------------------


class Printed(NamedTuple):
    """What a run said of its session so far."""

    session: str
    dollars: float
    total: Tokens
    own: Tokens


@pytest.fixture(scope="module")
def printed(corpus: Path) -> list[Printed]:
    found = []
    for shown in objects(corpus / "live/claude/evidence/runs.txt"):
        if "total_cost_usd" not in shown:
            continue
        names = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens")
        total = NOTHING
        for used in shown["modelUsage"].values():
            total = total.plus(Tokens(*(used[name] for name in names)))
        usage = shown["usage"]
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
        own = Tokens(*(usage[name] for name in names))
        found.append(Printed(shown["session_id"], shown["total_cost_usd"], total, own))
    return found


def last_of(printed: list[Printed], session: str) -> Printed:
    return [one for one in printed if one.session.startswith(session)][-1]


def test_claude_s_own_total_is_the_ledger_s(index: apsw.Connection, printed: list[Printed]) -> None:
    mine = by_session(index, "claude")
    said = last_of(printed, "cca04766")
    assert (tokens(mine[said.session]), mine[said.session].cost) == (said.total, round(said.dollars * 1_000_000))


def test_a_fork_s_own_total_has_its_origin_s_in_it(index: apsw.Connection, printed: list[Printed]) -> None:
    at = next(number for number, one in enumerate(printed) if one.session.startswith("82c9f9f9"))
    fork, before = printed[at], printed[at - 1]
    mine = by_session(index, "claude")[fork.session]
    assert tokens(mine) == fork.total - before.total
    assert mine.cost == round((fork.dollars - before.dollars) * 1_000_000)


def test_only_what_a_compaction_itself_took_is_not_in_the_log(index: apsw.Connection, printed: list[Printed]) -> None:
    """Claude Code writes no record of the request that makes the summary; everything else is there."""
    mine = by_session(index, "claude")
    said = last_of(printed, "2e25b64d")
    runs = [one for one in printed if one.session == said.session]
    at = next(number for number, one in enumerate(runs) if one.own == NOTHING)  # `/compact`, typed
    compaction = runs[at].total - runs[at - 1].total
    # 4 in, 17,201 written, half of it for an hour, 38 out
    assert (compaction, said.total - tokens(mine[said.session])) == (Tokens(4, 17_201, 0, 38), compaction)
    cost = round((runs[at].dollars - runs[at - 1].dollars) * 1_000_000)
    assert abs(mine[said.session].cost + cost - round(said.dollars * 1_000_000)) <= 3  # 20 requests, each rounded

    said = last_of(printed, "9aea1bb4")  # here it came by itself, within the last run
    before = [one for one in printed if one.session == said.session][-2]
    compaction = said.total - before.total - said.own
    assert (compaction, said.total - tokens(mine[said.session])) == (Tokens(4, 0, 16_916, 38), compaction)


# --- Codex -----------------------------------------------------------------------------------------------------------


def test_codex_s_own_totals_are_the_ledger_s(index: apsw.Connection, corpus: Path) -> None:
    mine = by_session(index, "codex", own_only=True)
    totals: dict[str, Tokens] = {}
    thread = ""
    for shown in objects(corpus / "live/codex/evidence/runs.txt"):
        thread = shown["thread_id"] if shown.get("type") == "thread.started" else thread
        if shown.get("type") == "turn.completed":
            usage = shown["usage"]
            cached, written = usage["cached_input_tokens"], usage["cache_write_input_tokens"]
            totals[thread] = Tokens(usage["input_tokens"] - cached - written, written, cached, usage["output_tokens"])
    origin, fork, *others = totals
    assert len(others) == 2
    for name in (origin, *others):
        assert tokens(mine[name]) == totals[name]
    # A fork's total has its origin's in it.
    assert tokens(mine[fork]) == totals[fork] - totals[origin]


# --- Grok Build ------------------------------------------------------------------------------------------------------


def test_grok_s_own_totals_are_the_ledger_s(index: apsw.Connection, corpus: Path) -> None:
    text = (corpus / "live/grok/evidence/runs.txt").read_text("utf-8")
    totals: dict[str, Tokens] = {}
    for block in re.findall(r"^\{\n.*?^\}$", text, re.MULTILINE | re.DOTALL):
        shown = json.loads(block)
        if "usage" not in shown:
            continue
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
        used = Tokens(*(shown["usage"][name] for name in names))
        totals[shown["sessionId"]] = totals.get(shown["sessionId"], NOTHING).plus(used)
    mine = by_session(index, "grok")
    assert len(totals) == 3
    assert {name: tokens(mine[name]) for name in totals} == totals


# --- Copilot CLI -----------------------------------------------------------------------------------------------------


def test_copilot_s_database_has_what_the_ledger_has(index: apsw.Connection, corpus: Path, tmp_path: Path) -> None:
    """It keeps a row of each model call, beside the records that the ledger is made from."""
    mine = by_session(index, "copilot")
    source = corpus / "live/copilot/home/.copilot/session-store.db"
    for path in source.parent.glob("session-store.db*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    store = apsw.Connection(str(tmp_path / source.name))
    query = (
        "SELECT session_id, sum(input_tokens - coalesce(cache_read_tokens, 0) - coalesce(cache_write_tokens, 0)),"
        " sum(coalesce(cache_write_tokens, 0)), sum(coalesce(cache_read_tokens, 0)), sum(output_tokens)"
        " FROM assistant_usage_events GROUP BY 1"
    )
    totals = {str(name): Tokens(*(int(str(count)) for count in counts)) for name, *counts in store.execute(query)}
    assert len(totals) > 3
    assert {name: tokens(mine[name]) for name in totals} == totals


# --- Gemini CLI ------------------------------------------------------------------------------------------------------


def test_gemini_s_own_statistics_are_the_ledger_s(index: apsw.Connection, corpus: Path) -> None:
    """Each run prints what it took itself; input is there what was not cached."""
    text = (corpus / "live/gemini/evidence/runs.txt").read_text("utf-8")
    totals: dict[str, Tokens] = {}
    for block in re.findall(r"^\{\n.*?^\}", text, re.MULTILINE | re.DOTALL):
        shown = json.loads(block)
        for figures in shown["stats"]["models"].values():
            used = figures["tokens"]
            found = Tokens(used["input"], 0, used["cached"], used["candidates"])
            totals[shown["session_id"]] = totals.get(shown["session_id"], NOTHING).plus(found)
    mine = by_session(index, "gemini")
    assert len(totals) == 1
    assert {name: tokens(mine[name]) for name in totals} == totals


# --- OpenCode --------------------------------------------------------------------------------------------------------


def test_opencode_s_own_steps_and_rows_are_the_ledger_s(index: apsw.Connection, corpus: Path, tmp_path: Path) -> None:
    """Its events say what each step took; thoughts beside the output. Its rows have the sub-agent's, and a fork's
    those of its origin."""
    mine = by_session(index, "opencode", own_only=True)
    totals: dict[str, Tokens] = {}
    for shown in objects(corpus / "live/opencode/evidence/runs.txt"):
        if shown.get("type") == "step_finish":
            totals[shown["sessionID"]] = totals.get(shown["sessionID"], NOTHING).plus(_used(shown["part"]["tokens"]))
    assert len(totals) == 2
    assert {name: tokens(mine[name]) for name in totals} == totals
    source = corpus / "live/opencode/home/.local/share/opencode/opencode.db"
    for path in source.parent.glob("opencode.db*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    query = (
        "SELECT parent_id IS NULL, sum(tokens_input), sum(tokens_cache_write), sum(tokens_cache_read),"
        " sum(tokens_output + tokens_reasoning) FROM session WHERE title NOT LIKE '%fork%' GROUP BY 1 ORDER BY 1"
    )
    rows = apsw.Connection(str(tmp_path / source.name)).execute(query)
    of_agent, own = (Tokens(*(int(str(count)) for count in counts)) for _, *counts in rows)
    origin = next(name for name in totals if totals[name] == own)
    assert tokens(by_session(index, "opencode")[origin]) == own.plus(of_agent)


def _used(step: dict[str, Any]) -> Tokens:
    return Tokens(step["input"], step["cache"]["write"], step["cache"]["read"], step["output"] + step["reasoning"])
