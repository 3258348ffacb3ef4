"""The budget for space as a machine of states: whatever is done in whatever order, and wherever a pass dies."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import retro
from retro.config import Settings
from retro.digests import digest as digests
from retro.places import Places, make_private_dir
from retro.reindex import rebuild
from retro.sweep import Report, sweep
from retro.upkeep import budget, evict
from support import answer, call, lines, prompt, result

STEPS: Final = ("append", "write_meta", "_say_so", "_remove", "_tidy", "_settled")
FAMILIES: Final = ("raw", "normalized", "rendered")
IDS: Final = tuple(f"{number:08}-0000-4000-8000-000000000000" for number in range(1, 6))
OWN: Final = ("import_meta.json",)
"""What says of a session that it was given up, and stays."""


class Crash(BaseException):
    """The end of a process."""


class Retention(RuleBasedStateMachine):
    """Sessions come, grow, are pinned and rendered, sweeps give up what is too much, and some of them die."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.home, self.root = self.folder / "home", self.folder / "archive"
        self.home.mkdir()
        self.places = Places(str(self.root))
        self.turns: dict[str, int] = {}
        self.swept: dict[str, int] = {}
        self.pinned: set[str] = set()
        self.lost: set[str] = set()
        self.digests: dict[str, tuple[int, int, int]] = {}
        self.died = False

    def teardown(self) -> None:
        shutil.rmtree(getattr(self, "folder", ""), ignore_errors=True)

    # What a person and their agent do.

    @rule(number=st.integers(0, len(IDS) - 1), size=st.integers(1, 400))
    def work(self, number: int, size: int) -> None:
        """A session is begun, or goes on."""
        session, turn = IDS[number], self.turns.get(IDS[number], 0)
        day = f"2026-0{number + 1}-{turn % 27 + 1:02}T00:00:00.000Z"
        base = turn * 10
        text = os.urandom(size).hex()  # what does not compress, so that caps mean something
        records = [
            prompt(f"do {turn} {text}", base + 1, timestamp=day, sessionId=session),
            call("Edit", {"file_path": f"/src/{turn}.py", "old_string": "a", "new_string": text}, base + 2)
            | {"timestamp": day, "sessionId": session},
            result("done", base + 3, timestamp=day, sessionId=session),
            answer(f"did {turn}", base + 4) | {"timestamp": day, "sessionId": session},
        ]
        file = self.home / ".claude" / "projects" / "-src" / f"{session}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as stream:
            stream.write(lines(*records))
        self.turns[session] = turn + 1

    @rule(number=st.integers(0, len(IDS) - 1), keep=st.booleans())
    def pin(self, number: int, keep: bool) -> None:
        if IDS[number] in self.swept and not self.died:
            budget.pin(self.places, "claude", IDS[number], keep=keep)
            (self.pinned.add if keep else self.pinned.discard)(IDS[number])

    @rule(number=st.integers(0, len(IDS) - 1))
    def render(self, number: int) -> None:
        if IDS[number] in self.swept and not self.died:
            make_private_dir(os.path.dirname(self.places.rendered("claude", IDS[number])))
            Path(self.places.rendered("claude", IDS[number])).write_text("# A session\n" * 20, "utf-8")

    @rule(number=st.integers(0, len(IDS) - 1))
    def lose_a_digest(self, number: int) -> None:
        """A digest is damaged on the disk, of a session that could still be read again."""
        path = Path(self.places.digest("claude", IDS[number]))
        if path.exists() and self._raw(IDS[number]) and not self.died:
            path.write_bytes(path.read_bytes()[:-9])

    @rule()
    def lose_the_index(self) -> None:
        if self.swept and not self.died:
            for file in self.root.glob("index.sqlite*"):
                file.unlink()
            rebuild(self.places, Settings(""))

    # What retro does.

    @rule(soft=st.integers(0, 9), hard=st.none() | st.integers(0, 9), loss=st.booleans())
    def sweep(self, soft: int, hard: int | None, loss: bool) -> None:
        """A sweep with caps between nothing and all of what is there."""
        if not self.turns:
            return
        before = self._usage()
        limits: dict[tuple[str, ...], object] = {("retention", "raw_soft_cap_bytes"): before * soft // 8}
        if hard is not None:
            limits["retention", "raw_hard_cap_bytes"] = before * hard // 8
            limits["retention", "allow_data_loss"] = loss
        report = self._sweep(limits)
        self.died = False
        self._is_told(report, limits.get(("retention", "raw_hard_cap_bytes")))
        again = self._sweep(limits)  # all is done: the second one finds nothing to do
        assert again.hosts[0].ingested == 0
        assert [one for step in again.space for one in step.evictions] == []

    @rule(step=st.sampled_from(STEPS), behind=st.booleans(), nth=st.integers(1, 3))
    def die(self, step: str, behind: bool, nth: int) -> None:
        """A sweep that gives up everything dies at a step of the nth session."""
        real, left = getattr(evict, step), [nth]

        def crash(*given: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0]:
                return real(*given, **named)
            if behind:
                real(*given, **named)
            raise Crash

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(evict, step, crash)
            try:
                self._sweep({("retention", "raw_soft_cap_bytes"): 1})
            except Crash:
                self.died = True

    def _sweep(self, limits: dict[tuple[str, ...], object]) -> Report:
        chosen = {("sweep", "workers"): 1, **limits}
        self.swept = dict.fromkeys(self.turns, 0) | self.swept
        return sweep(self.places, Settings("", chosen), {"HOME": str(self.home)}, hosts=["claude"])

    # What must hold.

    def _is_told(self, report: Report, hard: object) -> None:
        """What a sweep says it gave up is what went, the oldest first; and the hard cap holds, or it says why not."""
        final = report.space[-1]
        assert final.final_usage == self._usage()
        assert all(one.freed == sum(gone.bytes for gone in one.evictions) for one in report.space)
        for one in report.space:
            self.lost |= {gone.session_id for gone in one.data_loss}
            assert not {gone.session_id for gone in one.evictions} & self.pinned
        if isinstance(hard, int):
            assert final.over_hard_cap is (final.final_usage > hard)
            if final.over_hard_cap:
                kept = {session for session in self.turns if self._raw(session)}
                assert not [one for one in kept - self.pinned if self._digested(one)] or report.left_out
        whole = {gone.session_id for gone in final.evictions if not self._raw(gone.session_id)}
        oldest_first = [gone.session_id for gone in final.evictions if gone.reason == "soft_cap"]
        assert oldest_first == sorted(oldest_first, key=self._active)
        for session in self.turns:
            later = [gone for gone in oldest_first if gone in whole and self._active(gone) > self._active(session)]
            if later and self._raw(session):
                assert session in self.pinned or not self._digested(session)

    @invariant()
    def nothing_is_lost_that_was_not_digested(self) -> None:
        for session in self.swept if hasattr(self, "folder") else ():
            if not self._raw(session) and Path(self.places.raw("claude", session)).exists():
                assert session in self.lost or self._digested(session)

    @invariant()
    def digests_never_shrink(self) -> None:
        for session in self.swept if hasattr(self, "folder") else ():
            try:
                counts = digests.read(self.places.digest("claude", session)).counts
            except (OSError, ValueError):
                continue
            now = (counts.events, counts.turns, counts.files)
            assert all(one >= other for one, other in zip(now, self.digests.get(session, now), strict=True))
            self.digests[session] = now

    @invariant()
    def lists_keep_every_session(self) -> None:
        if not hasattr(self, "folder") or self.died or not (self.root / "index.sqlite").exists():
            return
        with retro.open(str(self.root)) as archive:
            assert {one.session_id for one in archive.sessions()} >= set(self.digests)

    def _raw(self, session: str) -> bool:
        """Whether there are raw bytes of a session."""
        folder = Path(self.places.raw("claude", session))
        return any(path.is_file() and path.name not in OWN for path in folder.rglob("*"))

    def _digested(self, session: str) -> bool:
        try:
            digests.read(self.places.digest("claude", session))
        except (OSError, ValueError):
            return False
        return True

    def _active(self, session: str) -> int:
        return IDS.index(session)

    def _usage(self) -> int:
        files = [path for family in FAMILIES for path in (self.root / family).rglob("*")]
        return sum(path.stat().st_size for path in files if path.is_file() and path.name not in OWN)


TestRetention = Retention.TestCase
TestRetention.settings = settings(
    max_examples=8,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
