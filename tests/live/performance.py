"""A play that was given: its recording, and what the tests of every client ask of what it left behind."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from live.recording import Recording
from retro.archive.committed import Job, SessionState
from retro.archive.reading import session_events
from retro.archive.work import Work
from retro.capture import capture
from retro.config import Settings
from retro.event import Event, Session, Usage
from retro.finding import Known, discover
from retro.index.database import open_reader
from retro.index.queries import Detail, detail
from retro.places import Places, init_root
from retro.sweep import sweep


class Performance(NamedTuple):
    """The recording, and the folder with its `home`, `project`, `archive` and `copies`."""

    host: str
    recording: Recording
    folder: Path

    @property
    def project(self) -> Path:
        """Where the client worked."""
        return self.folder / "project"

    @property
    def home(self) -> Path:
        """The client's home."""
        return self.folder / "home"

    def events(self, moment: str) -> dict[str, list[Event]]:
        """What `retro events` gave at a moment, by session."""
        return self.recording.events[moment]

    def exit_codes(self) -> dict[str, list[int]]:
        """How the client's command lines ended, by session."""
        ended: dict[str, list[int]] = {}
        for run in self.recording.runs:
            ended.setdefault(run.session, []).append(run.exit_code)
        return ended

    def sweeps(self) -> list[dict[str, Any]]:
        """What each sweep reported for this host. All must have gone well, but for files that were gone again."""
        reports = []
        for swept in self.recording.sweeps:
            hosts = {host["host"]: host for host in json.loads(swept.printed).get("hosts", ())}
            problems = [problem for host in hosts.values() for problem in host["problems"]]
            assert swept.complained == "", swept
            assert [problem for problem in problems if not _passing(problem["path"])] == []
            assert swept.exit_code == bool(problems), swept
            reports.append(hosts.get(self.host, {"discovered": 0, "ingested": 0, "appended": 0, "problems": []}))
        return reports

    def passing(self) -> list[str]:
        """Files that the client wrote to rename them, and that retro took for something to keep."""
        tripped = [problem["path"] for report in self.sweeps() for problem in report["problems"]]
        kept = [source.key for found in self.details().values() for source in found.sources]
        return [name for name in tripped + kept if _passing(name)]

    def files(self, moment: str, session: str) -> dict[str, bytes]:
        """The files that bore a session's id at a moment, by their paths in the client's data folder."""
        copied = self.folder / "copies" / moment
        found = {str(file.relative_to(copied)): file for file in copied.rglob("*") if file.is_file()}
        return {name: file.read_bytes() for name, file in found.items() if self.recording.sessions[session] in name}

    def details(self) -> dict[str, Detail]:
        """What the index knows of each session, in the end."""
        return _details(self.folder / "archive", self.host, self.recording.sessions)

    def sessions(self) -> dict[str, Session]:
        """Each session as `retro list` gives it."""
        return {name: found.session for name, found in self.details().items()}

    def rewritten(self) -> list[str]:
        """Transcripts of which the archive has more than one revision."""
        sources = [source for found in self.details().values() for source in found.sources]
        return [source.source_key for source in sources if source.kind == "transcript" and source.revision]

    def seen_at_once(self, archive: Path) -> dict[str, list[Event]]:
        """The events that one sweep of the home gives, as it is in the end."""
        places = Places(str(archive))
        sweep(places, Settings("", {}), self.env, hosts=(self.host,))
        details = _details(archive, self.host, self.recording.sessions)
        return {
            name: session_events(places.normalized(self.host, session), found.agents, found.normalized_bytes)
            for (name, session), found in zip(self.recording.sessions.items(), details.values(), strict=True)
        }

    def counted(self, archive: Path) -> dict[str, Usage]:
        """Every request that the sessions tell of, once, by its identity; the largest of several snapshots."""
        places = Places(str(archive))
        init_root(places.root)
        requests: dict[str, Usage] = {}
        for (host, session_id), sources in discover(Settings("", {}), self.env, (self.host,), Known()).sessions.items():
            work = [
                Work(
                    os.fsencode(one.path),
                    one.key,
                    one.kind,
                    one.archive_name,
                    one.size,
                    content=one.content,
                    form=one.form,
                    copy=one.copy,
                    stamp=(one.size, one.mtime_ns, one.inode, one.device),
                )
                for one in sources
            ]
            for part in capture(places, Job(SessionState(host, session_id, sources=[]), work)):
                for usage in part.usage:
                    known = requests.get(usage.usage_id)
                    if known is None or usage.output_tokens >= known.output_tokens:
                        requests[usage.usage_id] = usage
        return requests

    @property
    def env(self) -> dict[str, str]:
        """An environment in which the client's home is the home."""
        return {"HOME": str(self.home)}


def _passing(name: str) -> bool:
    return ".tmp." in name.rpartition("/")[2]


def _details(archive: Path, host: str, sessions: dict[str, str]) -> dict[str, Detail]:
    index = open_reader(Places(str(archive)))
    assert index is not None, f"nothing was captured in {archive}"
    try:
        return {name: detail(index, host, session) for name, session in sessions.items()}
    finally:
        index.close()
