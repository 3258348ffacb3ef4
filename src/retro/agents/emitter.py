"""How readers write events: sequence, turn, identity and limits, the same for every host."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from hashlib import blake2b
from typing import Final

import msgspec

from retro import secrets
from retro.agents.interface import Batch, Verdict
from retro.event import SCHEMA, TEXT_LIMIT, Actor, Event, EventType, Origin, RawRef

SUMMARY_LIMIT: Final = 160
_UTC_MS = re.compile(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d{3}Z").fullmatch
RECENT: Final = 64
"""How many of the last identities are remembered, to see that the host writes a record again."""

ALL: Final = 1 << 62
"""For hosts that write any record again, however old."""


class Progress(msgspec.Struct):
    """What a source's events depend on, kept between sweeps."""

    sequence: int = 0
    turn: int = 0
    cwd: str | None = None
    branch: str | None = None
    recent: dict[int, int] = {}
    """Places of the last events, by a hash of their ids."""
    embedded: dict[int, int] = {}
    """The same for those that came inside other records."""


class Emitter:
    """Adds the events of one source to a batch."""

    def __init__(self, host: str, session_id: str, source: str, progress: Progress, remembered: int = RECENT) -> None:
        self.host, self.session_id, self.source = host, session_id, source
        self.progress = progress
        self.batch = Batch([], [])
        self.reference = RawRef(source, 0, 0, 0)
        self.timestamp: str | None = None
        self.identity = ""
        self.recent = progress.recent
        self._remembered = remembered
        self.emitted = 0
        self.agent_id: str | None = None
        self.parent: str | None = None
        self.shared: Mapping[str, str] = {}
        self._before = (0, 0, 0, 0, progress.cwd, progress.branch)

    def begin(self, batch: Batch, line: int, offset: int, length: int) -> None:
        """A record begins; what it gives goes into `batch`."""
        self.batch = batch
        self.reference = RawRef(self.source, line, offset, length)
        self.emitted = 0
        self.shared = {}
        progress = self.progress
        counts = len(batch.events), len(batch.usage), progress.sequence, progress.turn
        self._before = (*counts, progress.cwd, progress.branch)

    def take_back(self) -> None:
        """Forget what the record that was begun has given so far."""
        events, usage, sequence, turn, cwd, branch = self._before
        del self.batch.events[events:], self.batch.usage[usage:]
        progress = self.progress
        progress.sequence, progress.turn, progress.cwd, progress.branch = sequence, turn, cwd, branch
        for places in (progress.recent, progress.embedded):
            for key in [key for key, place in places.items() if place >= sequence]:
                del places[key]

    def identify(self, identity: str, *, embedded: bool = False) -> None:
        """Name the record; the same name again means that the host wrote it again, and the later one wins."""
        self.identity = identity
        self.recent = self.progress.embedded if embedded else self.progress.recent

    def go_to_second(self) -> None:
        """What follows is the record's second event, also where its first one is told elsewhere: ids stay the same."""
        self.emitted = max(self.emitted, 1)

    def where(self, cwd: str | None, branch: str | None) -> dict[str, str]:
        """Folder and branch, where they differ from what the last event that had any said."""
        said = {}
        if cwd and cwd != self.progress.cwd:
            said["cwd"] = cwd
        if branch and branch != self.progress.branch:
            said["branch"] = branch
        return said

    def begin_turn(self) -> None:
        """What follows answers a new prompt."""
        self.progress.turn += 1

    def emit(
        self,
        actor: Actor,
        event_type: EventType,
        summary: str,
        text: str | None = None,
        *,
        origin: Origin | None = None,
        call_id: str | None = None,
        model: str | None = None,
        tool: str | None = None,
        command: str | None = None,
        paths: list[str] | None = None,
        exit_code: int | None = None,
        is_error: bool | None = None,
        duration_ms: int | None = None,
        usage_id: str | None = None,
        payload: dict[str, object] | None = None,
        truncated: bool = False,
    ) -> Event:
        """Add one event."""
        if text is not None and len(text) > TEXT_LIMIT // 4:
            text, cut = limited(text)
            truncated = truncated or cut
        event_id = f"{self.identity}.{self.emitted}" if self.emitted else self.identity
        self.emitted += 1
        event = Event(
            schema=SCHEMA,
            event_id=event_id,
            session_id=self.session_id,
            host=self.host,
            source=self.source,
            sequence=self._place(event_id),
            timestamp=self.timestamp,
            actor=actor,
            event_type=event_type,
            summary=summary,
            raw_ref=self.reference,
            origin=origin,
            text=text,
            turn=self.progress.turn or None,
            call_id=call_id,
            parent_event_id=self.parent,
            agent_id=self.agent_id,
            model=model,
            tool=tool,
            command=command,
            paths=paths,
            exit_code=exit_code,
            is_error=is_error,
            duration_ms=duration_ms,
            usage_id=usage_id,
            payload=payload,
            truncated=truncated,
            **self._said(),
        )
        self.batch.events.append(event)
        return event

    def _said(self) -> Mapping[str, str]:
        """What the next event says for all that follow; it need not be said again."""
        said, self.shared = self.shared, {}
        if said:
            self.progress.cwd = said.get("cwd", self.progress.cwd)
            self.progress.branch = said.get("branch", self.progress.branch)
        return said

    def _place(self, event_id: str) -> int:
        """The next place, or that of the event of this id if it was there before."""
        recent, progress = self.recent, self.progress
        key = int.from_bytes(blake2b(event_id.encode("utf-8", "replace"), digest_size=8).digest(), "big")
        known = recent.get(key)
        if known is not None:
            return known
        if len(recent) >= self._remembered:
            del recent[next(iter(recent))]
        recent[key] = sequence = progress.sequence
        progress.sequence = sequence + 1
        return sequence


_VERDICTS: dict[tuple[str, str], Verdict] = {}


def verdict(account: str, kind: str) -> Verdict:
    """How a record is accounted for; the same object for the same answer."""
    found = _VERDICTS.get((account, kind))
    if found is None:
        if len(_VERDICTS) > 5000:
            _VERDICTS.clear()
        found = _VERDICTS[account, kind] = Verdict(account, secrets.mask(kind).text)  # hosts write any word there
    return found


def one_line(text: str) -> str:
    """The beginning of a text as one line."""
    line = " ".join(text[: SUMMARY_LIMIT + 40].split())
    if len(line) <= SUMMARY_LIMIT and len(text) > SUMMARY_LIMIT + 40:  # much of it was white space
        line = " ".join(text[: SUMMARY_LIMIT * 3].split())
    return line if len(line) <= SUMMARY_LIMIT else line[: SUMMARY_LIMIT - 1] + "…"


def limited(text: str) -> tuple[str, bool]:
    """A text within the limit of an event, and whether it was cut; no half word is left, lest half a secret be."""
    data = text.encode("utf-8", "replace")
    if len(data) <= TEXT_LIMIT:
        return text, False
    cut = data[:TEXT_LIMIT].decode("utf-8", "ignore")
    space = max(cut.rfind(mark, len(cut) - 8192) for mark in (" ", "\n", "\t", '"'))
    return (cut[:space] if space > 0 else cut), True


def content_id(data: bytes) -> str:
    """Identity of a record to which the host gave none."""
    return "h" + blake2b(data, digest_size=12).hexdigest()


def is_content_id(event_id: str) -> bool:
    """Whether an event is known by its content only, so that the same words elsewhere have the same id."""
    return event_id[:1] == "h"


def utc(text: str | None) -> str | None:
    """A host's time as ours: UTC with milliseconds; None where it is none."""
    if not text:
        return None
    if _UTC_MS(text):
        return text
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    except (ValueError, OverflowError):
        return None
