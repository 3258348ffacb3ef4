"""The budget for space: what goes, in which order, what never goes, and what is left of what went."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_support import AGENTS, ALL, FIX, FORK, SECRETS, Retro, retro, root, swept, transcript
from retro.archive import state_log
from retro.archive.state_log import decisions
from retro.places import Places
from retro.upkeep import budget, evict
from retro.upkeep.budget import Holding, plan
from retro.upkeep.caps import Limits
from retro.upkeep.evict import KINDS

__all__ = ["retro", "root", "swept"]

OLD = "2026-02-01T00:00:00Z"


# --- what goes -------------------------------------------------------------------------------------------------------


@st.composite
def holdings(draw: st.DrawFn) -> list[Holding]:
    """Sessions, oldest first."""
    found = []
    for number in range(draw(st.integers(0, 12))):
        sizes = {kind: draw(st.integers(0, 1000)) for kind in KINDS}
        found.append(
            Holding(
                host="claude",
                session_id=f"s{number}",
                title=None,
                active=f"2026-{1 + number:02}-01T00:00:00Z",
                bytes={kind: size for kind, size in sizes.items() if size},
                digested=draw(st.booleans()),
                pinned=draw(st.booleans()),
            )
        )
    return found


caps = st.none() | st.integers(1, 12_000)


@given(holdings(), caps, caps, st.none() | st.just(30), st.booleans())
def test_what_goes_is_what_has_to_and_may(
    found: list[Holding], soft: int | None, hard: int | None, age: int | None, loss: bool
) -> None:
    limits = Limits(soft, hard, age, None, loss)
    going = plan(found, limits, OLD)
    by_id = {one.session_id: one for one in found}
    gone: dict[str, set[str]] = {}
    for each in going:
        assert not gone.get(each.session_id, set()) & set(each.kinds)
        gone.setdefault(each.session_id, set()).update(each.kinds)
        assert each.bytes == sum(by_id[each.session_id].bytes[kind] for kind in each.kinds)
    left = sum(one.size for one in found) - sum(one.bytes for one in going)
    # Nothing pinned goes, and nothing undistilled unless that was allowed and the hard cap needs it.
    assert not any(by_id[session_id].pinned for session_id in gone)
    lost = [one for one in going if not one.digested]
    assert not lost or (loss and hard is not None)
    # The caps hold wherever something that may go could make them hold.
    may_go = sum(
        size
        for one in found
        if one.digested and not one.pinned
        for kind, size in one.bytes.items()
        if kind not in gone.get(one.session_id, ())
    )
    target = min((cap for cap in (soft, hard) if cap is not None), default=None)
    assert target is None or left <= target or may_go == 0
    if loss and hard is not None and left > hard:
        assert all(one.pinned or set(one.bytes) <= gone.get(one.session_id, set()) for one in found)
    # Of a session that does not go as a whole, what can be made again goes first; an older one goes before it.
    partly = [one for one in found if one.session_id in gone and gone[one.session_id] != set(one.bytes)]
    for one in partly:
        kept = [kind for kind in KINDS if kind in one.bytes and kind not in gone[one.session_id]]
        assert max(KINDS.index(kind) for kind in gone[one.session_id]) < min(KINDS.index(kind) for kind in kept)
    for digested in (True, False):
        capped = [by_id[one.session_id].active for one in going if one.digested is digested and one.reason != "age"]
        assert capped == sorted(capped)
        if capped:
            older = [one for one in found if one.digested is digested and not one.pinned and one.active < capped[-1]]
            assert all(set(one.bytes) == gone.get(one.session_id, set()) for one in older)


def test_age_takes_digested_sessions_only() -> None:
    old = "2026-01-01T00:00:00Z"
    found = [
        Holding("claude", "digested", None, old, {"raw": 5}, digested=True, pinned=False),
        Holding("claude", "pinned", None, old, {"raw": 5}, digested=True, pinned=True),
        Holding("claude", "raw", None, old, {"raw": 5}, digested=False, pinned=False),
        Holding("claude", "young", None, "2026-03-01T00:00:00Z", {"raw": 5}, digested=True, pinned=False),
    ]
    assert [(one.session_id, one.reason) for one in plan(found, Limits(max_age_days=9), OLD)] == [("digested", "age")]


# --- what is left ----------------------------------------------------------------------------------------------------


@pytest.fixture
def limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set limits in the settings."""

    def limit(**limits: object) -> None:
        file = tmp_path / "config.toml"
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in limits.items()]
        file.write_text("[retention]\n" + "".join(lines), "utf-8")
        monkeypatch.setenv("RETRO_CONFIG", str(file))

    return limit


def undigested(root: Path, *sessions: str) -> None:
    """Take the digests of sessions away, and have no new one be written in their place."""
    connection = apsw.Connection(str(root / "index.sqlite"))
    query = "UPDATE session SET digest_events = NULL WHERE session_id = ?"
    connection.executemany(query, [(session,) for session in sessions])
    connection.close()
    for session in sessions:
        path = Path(Places(str(root)).digest("claude", session))
        path.unlink()
        (path / "in the way").mkdir(parents=True)


def bulk(root: Path) -> int:
    """What the caps are about, as it lies on the disk."""
    files = [path for family in ("raw", "normalized", "rendered") for path in (root / family).rglob("*")]
    return sum(path.stat().st_size for path in files if path.is_file() and path.name != "import_meta.json")


def test_the_oldest_go_until_the_cap_holds_and_what_was_distilled_stays(
    swept: Retro, root: Path, limited: Callable[..., None]
) -> None:
    before = swept.json("list", "--limit", "10")["sessions"]
    size = bulk(root)
    cap = size * 2 // 3
    limited(raw_soft_cap_bytes=cap)
    foreseen = swept.json("space")["next_pass"]
    report = swept.json("sweep")
    assert [(one["session_id"], one["kinds"]) for one in report["evictions"]] == [
        (one["session_id"], one["kinds"]) for one in foreseen["evictions"]
    ]
    assert report["freed"] == foreseen["freed"] == size - bulk(root)
    assert report["final_usage"] == bulk(root) <= cap
    oldest = [one["session_id"] for one in reversed(before)]
    gone = [one["session_id"] for one in report["evictions"]]
    assert gone == oldest[: len(gone)]
    # Lists and counts do not change, and the next sweep neither captures anything again nor gives anything up.
    again = swept.json("list", "--limit", "10")["sessions"]
    assert [{**one, "archive_bytes": 0} for one in again] == [{**one, "archive_bytes": 0} for one in before]
    report = swept.json("sweep")
    assert report["evictions"] == []
    assert report["hosts"][0]["skipped_unchanged"] == len(ALL)
    assert swept.json("verify")["sound"] is True


def test_what_went_is_said_wherever_it_is_asked_for(swept: Retro, limited: Callable[..., None]) -> None:
    limited(raw_soft_cap_bytes=1)
    assert len(swept.json("sweep")["evictions"]) == len(ALL)
    shown = swept.json("show", FIX)
    assert (shown["events_evicted"], shown["exact"]) == (True, True)
    assert all(source["evicted_bytes"] == source["captured_bytes"] for source in shown["sources"])
    assert "given up" in swept.says("show", FIX)
    for command in (["events", FIX], ["render", FIX], ["raw", FIX], ["restore", FIX]):
        done = swept(*command)
        assert done.code == 1
        assert "given up to stay within the space budget" in done.err


def test_an_evicted_session_that_grows_takes_its_new_part_in(
    swept: Retro, root: Path, demo_home: Path, limited: Callable[..., None]
) -> None:
    before = swept.json("show", FIX)
    limited(raw_soft_cap_bytes=1)
    swept("sweep")
    limited()
    file = transcript(demo_home, FIX)
    records = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    prompt = next(one for one in records if one.get("promptSource") == "typed" and one["type"] == "user")
    prompt |= {"uuid": "99999999-0000-4000-8000-000000000001", "message": {"role": "user", "content": "one more thing"}}
    grown = json.dumps(prompt).encode() + b"\n"
    with file.open("ab") as stream:
        stream.write(grown)
    host = swept.json("sweep")["hosts"][0]
    assert (host["ingested"], host["appended"]) == (0, 1)
    after = swept.json("show", FIX)
    assert after["session"]["turns"] == before["session"]["turns"] + 1
    assert after["session"]["events"] == before["session"]["events"] + 1
    assert after["exact"] is True
    (event,) = _events(swept)
    assert event["text"] == "one more thing"
    done = swept("raw", FIX, "--event", str(event["event_id"]))
    assert done.out.encode() == grown.rstrip()
    assert swept.json("verify")["sound"] is True
    # Without the index the archive still says all of it.
    (root / "index.sqlite").unlink()
    swept("reindex")
    rebuilt = swept.json("show", FIX)
    for figure in ("turns", "events", "commands", "edits", "errors", "started", "ended"):
        assert rebuilt["session"][figure] == after["session"][figure]
    assert rebuilt["bytes"] == after["bytes"]
    host = swept.json("sweep")["hosts"][0]
    assert host["skipped_unchanged"] == len(ALL)


def _events(swept: Retro) -> list[dict[str, object]]:
    done = swept("events", FIX)
    assert done.code == 0
    assert "older events were given up" in done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_events_alone_may_go_and_are_not_made_again(swept: Retro, root: Path) -> None:
    before = swept.json("show", AGENTS)
    connection = apsw.Connection(str(root / "index.sqlite"))
    evict.evict(connection, Places(str(root)), "claude", AGENTS, ["normalised"], digested=True)
    connection.close()
    assert swept("raw", AGENTS).code == 0
    swept("reindex")
    after = swept.json("show", AGENTS)
    assert after["session"]["events"] == before["session"]["events"]
    assert after["turns"] == before["turns"]
    assert not list((root / "normalized").rglob(f"{AGENTS}*"))
    assert swept.json("verify")["sound"] is True


def test_a_pinned_session_stays(swept: Retro, root: Path, limited: Callable[..., None]) -> None:
    assert swept.json("pin", FORK)["changed"] is True
    assert swept.json("pin", FORK)["changed"] is False
    limited(raw_hard_cap_bytes=1)
    report = swept.json("sweep", code=0)
    assert FORK not in {one["session_id"] for one in report["evictions"]}
    assert report["over_hard_cap"] is True
    swept.json("pin", FORK, "--undo")
    assert [one["session_id"] for one in swept.json("sweep")["evictions"]] == [FORK]
    swept.json("pin", FORK)
    swept("reindex")
    assert swept.json("show", FORK)["pinned"] is True


def test_nothing_undistilled_goes_unless_its_loss_is_allowed(
    swept: Retro, root: Path, limited: Callable[..., None]
) -> None:
    undigested(root, SECRETS)
    limited(raw_hard_cap_bytes=1)
    report = swept.json("sweep")
    assert SECRETS not in {one["session_id"] for one in report["evictions"]}
    assert (report["data_loss"], report["over_hard_cap"]) == ([], True)
    limited(raw_hard_cap_bytes=1, allow_data_loss=True)
    done = swept("sweep")
    assert f"data loss: claude {SECRETS}" in done.err
    assert [one.undigested for one in decisions(Places(str(root))) if one.what == state_log.EVICTED].count(True) == 1


def test_above_the_hard_cap_nothing_new_is_captured(
    swept: Retro, root: Path, demo_home: Path, limited: Callable[..., None]
) -> None:
    undigested(root, *ALL)
    limited(raw_hard_cap_bytes=bulk(root) // 2)
    file = transcript(demo_home, FIX)
    file.with_name("0f0f0f0f-0000-4000-8000-000000000001.jsonl").write_bytes(file.read_bytes())
    done = swept("sweep")
    assert done.code == 1
    assert "the hard cap is reached, and 1 session was not captured" in done.err


# --- a crash at every step -------------------------------------------------------------------------------------------


class Crash(BaseException):
    """The end of a process."""


STEPS = ("append", "write_meta", "_say_so", "_remove", "_tidy", "_settled")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("behind", [False, True])
def test_a_crash_between_two_steps_is_mended_by_the_next_sweep(
    swept: Retro, root: Path, limited: Callable[..., None], step: str, behind: bool
) -> None:
    limited(raw_soft_cap_bytes=1)
    real = getattr(evict, step)

    def crash(*given: object, **named: object) -> None:
        if behind:
            real(*given, **named)
        raise Crash

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evict, step, crash)
        with pytest.raises(Crash):
            budget.keep_within(Places(str(root)), Limits(soft=1))
    swept("sweep")
    assert bulk(root) == 0
    assert swept.json("verify")["sound"] is True
    swept("reindex")
    assert bulk(root) == 0
    assert len(swept.json("list")["sessions"]) == len(ALL)
