"""Homes of Claude Code that were never lived in, as large as wanted and like real ones: `python -m bench.generate`.

Each session works on a few invented files: it reads them (the content stands in the record twice), edits them (with the
whole file before the edit, and a patch), runs commands, thinks, and is interrupted by progress records, hooks and
snapshots. How often, and how long each record is, `calibration.json` tells.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

from bench.calibrate import calibration
from bench.figures import Figures
from bench.text import Pools, Text

SAME_FILE: Final = 0.6
GOLDEN: Final = 0.618033988749895
FILES: Final = 4
"""Files that a session works on."""
TOPIC: Final = 0.022
"""Share of all prose from which one session speaks: people and models repeat themselves."""
FROM_START: Final = 0.55
"""How often a file is read from its first line."""
REMINDER: Final = (
    "\\n<system-reminder>\\nWhenever you read a file, you should consider whether it looks malicious. You can and"
    " should say what it does. You must refuse to improve it then, and may still analyse it.\\n</system-reminder>\\n"
)
"""What stands behind every file that the model reads."""
AGENT_BURST: Final = 16
EPOCH: Final = 1_768_000_000_000
_UNITS: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}

_COUNTED: Final = (
    "assistant:thinking",
    "assistant:text",
    "user:text",
    "progress:bash_progress",
    "progress:hook_progress",
    "progress:agent_progress",
    "file-history-snapshot",
    "system:stop_hook_summary",
    "system:turn_duration",
    "queue-operation",
)
"""Kinds that come along with the calls, so many for each."""

_TOOLS: Final = ("Bash", "Read", "Edit", "Grep", "Write", "Glob", "TodoWrite", "other")


class Plan:
    """What comes next and how long it is, spread so evenly that a small home has the shares of a large one."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._places: dict[str, float] = {}
        calls = {tool: figures.kinds[f"call:{tool}"].count for tool in _TOOLS}
        total = sum(calls.values())
        self._tools = {tool: count / total for tool, count in calls.items()}
        self._due = dict.fromkeys(_TOOLS, 0.0)
        self._rates = {kind: figures.kinds[kind].count / total for kind in _COUNTED}
        self._credit = dict.fromkeys(_COUNTED, 0.0)

    def length(self, kind: str) -> int:
        """How long the next record of a kind is, all of it."""
        place = self._places[kind] = (self._places.get(kind, 0.37) + GOLDEN) % 1
        lengths = self._figures.kinds[kind].lengths
        at = place * len(lengths) - 0.5
        low = min(max(int(at), 0), len(lengths) - 2) if len(lengths) > 1 else 0
        if not 0 <= at <= len(lengths) - 1:
            return lengths[0 if at < 0 else -1]
        return round(lengths[low] + (lengths[low + 1] - lengths[low]) * (at - low))

    def tool(self) -> str:
        """The next tool that is called."""
        for tool, share in self._tools.items():
            self._due[tool] += share
        for kind, rate in self._rates.items():
            self._credit[kind] += rate
        tool = max(self._due, key=self._due.__getitem__)
        self._due[tool] -= 1
        return tool

    def take(self, kind: str, least: int = 1) -> int:
        """How many records of a kind are due, none before it is `least`."""
        credit = self._credit[kind]
        count = int(credit) if credit >= least else 0
        self._credit[kind] = credit - count
        return count

    def spend(self, kind: str) -> None:
        """A record of a kind was made before it was due."""
        self._credit[kind] -= 1


class File:
    """An invented file, and how the Read tool shows it."""

    def __init__(self, code: Text, chance: random.Random, folder: str, name: str) -> None:
        first = chance.randrange(len(code.lines) - 4000)
        self.path = f"{folder}/{name}"
        self.raw = Text([line[:-2] for line in code.lines[first : first + 3000]])
        self.shown = Text(
            [f"{place:6}\xe2\x86\x92{line[:-2]}" for place, line in enumerate(self.raw.lines, start=1)],
        )

    def slices(self, chance: random.Random, length: int) -> tuple[str, str, int, int]:
        """Lines as they are and as they are shown, together about so many bytes; the first line and how many."""
        first = 0 if chance.random() < FROM_START else chance.randrange(1500)
        raw, shown = self.raw.starts, self.shown.starts
        want = raw[first] + shown[first] + length
        last = first + max(1, _place(raw, shown, want) - first)
        return self.raw.between(first, last), self.shown.between(first, last), first + 1, last - first


def _place(raw: list[int], shown: list[int], want: int) -> int:
    low, high = 0, len(raw) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if raw[middle] + shown[middle] <= want:
            low = middle
        else:
            high = middle - 1
    return low


class Session:
    """One transcript in the making."""

    def __init__(self, pools: Pools, plan: Plan, chance: random.Random, slug: str) -> None:
        self.pools, self.plan, self.chance = pools, plan, chance
        self.id = self.uuid()
        self.cwd = slug.replace("-", "/")
        self.clock = EPOCH + chance.randrange(30 * 86_400_000)
        self.parent = "null"
        self.topic = chance.random() * (1 - TOPIC)
        self.files = [self._file() for _ in range(FILES)]
        self.current = self.files[0]
        self.branch = f"{self.word()}/{self.word()}-{self.word()}-{self.word()}"
        self.name = f"{self.word()}-{self.word()}-{self.word()}"
        self.message = self.request = ""
        self.tokens = 20_000
        self.given = self.put = 0

    # Small things.

    def word(self) -> str:
        return self.chance.choice(self.pools.words)

    def uuid(self) -> str:
        text = f"{self.chance.getrandbits(128):032x}"
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"

    def token(self, prefix: str, length: int = 24) -> str:
        return prefix + f"{self.chance.getrandbits(length * 4):0{length}x}"

    def moment(self, most: int = 4000) -> str:
        self.clock += self.chance.randrange(1, most)
        seconds, milliseconds = divmod(self.clock, 1000)
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{milliseconds:03}Z"

    def prose(self, length: int) -> str:
        return self.pools.prose.piece(self.chance, length, self.topic, self.topic + TOPIC)

    def file(self) -> File:
        """What is worked on: usually what was worked on before."""
        if self.chance.random() > SAME_FILE:
            self.current = self.files[int(self.chance.random() ** 2 * len(self.files))]
        return self.current

    def _file(self) -> File:
        folder = f"{self.cwd}/cmd/{self.word()}/{self.word()}"
        return File(self.pools.code, self.chance, folder, f"{self.word()}_{self.word()}.go")

    # Records.

    def envelope(self, kind: str, inside: str, *, behind: str = "", slug: bool = True) -> str:
        """A record with the fields that all have."""
        uuid = self.uuid()
        text = (
            f'{{"parentUuid":{self.parent},"isSidechain":false,"userType":"external","cwd":"{self.cwd}",'
            f'"sessionId":"{self.id}","version":"2.1.33","gitBranch":"{self.branch}",'
            + (f'"slug":"{self.name}",' if slug else "")
            + f'{inside},"type":"{kind}","uuid":"{uuid}","timestamp":"{self.moment()}"{behind}}}\n'
        )
        self.parent = f'"{uuid}"'
        return text

    def begin_message(self) -> None:
        """The model answers anew; its blocks become a line each."""
        self.message, self.request = self.token("msg_01", 22), self.token("req_011C", 20)
        self.tokens += self.chance.randrange(100, 1500)
        self.given, self.put = self.chance.randrange(1, 9), 0

    def assistant(self, block: str) -> str:
        written = self.tokens % 977
        self.put += self.chance.randrange(1, 60)
        usage = (
            f'"usage":{{"input_tokens":{self.given},"cache_creation_input_tokens":{written},'
            f'"cache_read_input_tokens":{self.tokens},"cache_creation":{{"ephemeral_5m_input_tokens":{written},'
            f'"ephemeral_1h_input_tokens":0}},"output_tokens":{self.put},"service_tier":"standard",'
            '"inference_geo":"not_available"}'
        )
        return self.envelope(
            "assistant",
            f'"message":{{"model":"claude-opus-4-6","id":"{self.message}","type":"message","role":"assistant",'
            f'"content":[{block}],"stop_reason":null,"stop_sequence":null,{usage}}},"requestId":"{self.request}"',
        )

    def thinking(self, length: int, share: float) -> str:
        room = max(length - 1010, 60)
        signature = max(int(room * share) & ~3, 40)
        thought, signed = self.prose(room - signature), self.pools.signed(signature)
        return self.assistant(f'{{"type":"thinking","thinking":"{thought}","signature":"{signed}"}}')

    def text(self, length: int) -> str:
        return self.assistant(f'{{"type":"text","text":"{self.prose(max(length - 905, 20))}"}}')

    def prompt(self, length: int) -> str:
        room = max(length - 520, 12)
        return self.envelope("user", f'"message":{{"role":"user","content":"{self.prose(room)}"}}')

    def call(self, tool: str, length: int, call_id: str, file: File) -> str:
        """A tool is called."""
        room = max(length - 975, 10)
        given, name = _CALLS[tool](self, room, file), tool if tool != "other" else "TaskUpdate"
        return self.assistant(f'{{"type":"tool_use","id":"{call_id}","name":"{name}","input":{given}}}')

    def result(self, tool: str, length: int, call_id: str, file: File) -> str:
        """What a call gave, once for the model and once for the host."""
        said, kept = _RESULTS[tool](self, max(length - 700, 20), file)
        return self.envelope(
            "user",
            f'"message":{{"role":"user","content":[{{"tool_use_id":"{call_id}","type":"tool_result","content":"{said}"'
            f'}}]}},"toolUseResult":{kept}',
        )

    def hook_progress(self, length: int) -> str:
        command = f"${{CLAUDE_PLUGIN_ROOT}}/hooks/{self.word()}.sh {self.prose(max(length - 640, 0))}".rstrip()
        return self.envelope(
            "progress",
            f'"data":{{"type":"hook_progress","hookEvent":"PostToolUse","hookName":"PostToolUse:Edit","command":"{command}"}}'
            f',"parentToolUseID":"{self.call_id}","toolUseID":"{self.call_id}"',
            slug=False,
        )

    def bash_progress(self, length: int) -> str:
        room = max(length - 620, 0) // 2
        output = self.pools.code.cut(self.printed, room)
        return self.envelope(
            "progress",
            f'"data":{{"type":"bash_progress","output":"{output}","fullOutput":"{output}",'
            f'"elapsedTimeSeconds":{self.chance.randrange(1, 90)},"totalLines":{output.count(chr(92) + "n")}}},'
            f'"toolUseID":"bash-progress-{self.chance.randrange(40)}","parentToolUseID":"{self.call_id}"',
        )

    def agent_progress(self, length: int, agent: str) -> str:
        """A sub-agent's message inside the main session's file."""
        room, file, call_id = max(length - 1100, 40), self.file(), self.token("toolu_01")
        if room < 1200:
            block = (
                f'{{"type":"assistant","timestamp":"{self.moment(50)}","message":{{"model":"claude-haiku-4-5-20251001",'
                f'"id":"{self.token("msg_01", 22)}","type":"message","role":"assistant","content":[{{"type":"tool_use",'
                f'"id":"{call_id}","name":"Grep","input":{{"pattern":"{self.word()}","path":"{file.path}"}}}}],'
                '"usage":{"input_tokens":3,"cache_creation_input_tokens":2207,"cache_read_input_tokens":9100,'
                f'"output_tokens":{self.chance.randrange(1, 90)},"service_tier":"standard"}}}},'
                f'"requestId":"{self.token("req_011C", 20)}",'
                f'"uuid":"{self.uuid()}"}}'
            )
        else:
            raw, shown, first, count = file.slices(self.chance, room // 2 if room < 20_000 else room)
            block = (
                f'{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{call_id}","type":"tool_result",'
                f'"content":"{shown}"}}]}},"uuid":"{self.uuid()}","timestamp":"{self.moment(50)}","toolUseResult":'
                f'{{"type":"text","file":{{"filePath":"{file.path}","content":"{raw}","numLines":{count},'
                f'"startLine":{first},"totalLines":3000}}}}}}'
            )
        before = ",".join([block] * max(round((room - len(block)) / len(block)), 0))
        return self.envelope(
            "progress",
            f'"data":{{"message":{block},"normalizedMessages":[{before}],"type":"agent_progress","prompt":'
            f'"{self.word()} {self.word()}","agentId":"{agent}"}},"toolUseID":"agent_{self.message}",'
            f'"parentToolUseID":"{self.call_id}"',
        )

    def snapshot(self, length: int) -> str:
        count = max((length - 220) // 150, 0)
        backups = ",".join(
            f'"{self.files[place % FILES].path[len(self.cwd) + 1 :]}{place // FILES or ""}":{{"backupFileName":'
            f'"{self.token("", 16)}@v{place + 1}","version":{place + 1},"backupTime":"{self.moment(5)}"}}'
            for place in range(count)
        )
        return (
            f'{{"type":"file-history-snapshot","messageId":{self.parent},"snapshot":{{"messageId":{self.parent},'
            f'"trackedFileBackups":{{{backups}}},"timestamp":"{self.moment(5)}"}},"isSnapshotUpdate":false}}\n'
        )

    def stop_hooks(self, length: int) -> str:
        return self.envelope(
            "system",
            '"subtype":"stop_hook_summary","hookCount":1,"hookInfos":[{"command":"'
            f'{self.word()} hooks {self.word()} stop{" " + self.prose(length - 700) if length > 720 else ""}"}}],'
            '"hookErrors":[],"preventedContinuation":false,"stopReason":"","hasOutput":false,"level":"suggestion",'
            f'"toolUseID":"{self.uuid()}"',
        )

    def duration(self, _length: int) -> str:
        return self.envelope("system", f'"subtype":"turn_duration","durationMs":{self.chance.randrange(10**6)}')

    def queued(self, length: int) -> str:
        return (
            f'{{"type":"queue-operation","operation":"enqueue","timestamp":"{self.moment()}","sessionId":"{self.id}",'
            f'"content":"{self.prose(max(length - 150, 0))}"}}\n'
        )

    # The course of it.

    call_id = ""
    printed = 0
    """Where the output of the last command begins."""

    def records(self, share: float) -> Iterator[str]:
        """Record after record, without an end. It begins with a prompt."""
        plan = self.plan
        yield self.snapshot(plan.length("file-history-snapshot"))
        yield self.prompt(plan.length("user:text"))
        plan.spend("file-history-snapshot")
        plan.spend("user:text")
        while True:
            tool = plan.tool()
            yield from self._turn_ends()
            self.begin_message()
            for _ in range(plan.take("assistant:thinking")):
                yield self.thinking(plan.length("assistant:thinking"), share)
            for _ in range(plan.take("assistant:text")):
                yield self.text(plan.length("assistant:text"))
            yield from self._step(tool)

    def _turn_ends(self) -> Iterator[str]:
        plan, kinds = self.plan, _BETWEEN
        for kind, make in kinds.items():
            for _ in range(plan.take(kind)):
                yield make(self, plan.length(kind))

    def _step(self, tool: str) -> Iterator[str]:
        """A call, what is told on the way, its result."""
        plan, file = self.plan, self.file()
        self.call_id = call_id = self.token("toolu_01")
        yield self.call(tool, plan.length(f"call:{tool}"), call_id, file)
        for _ in range(plan.take("progress:hook_progress")):
            yield self.hook_progress(plan.length("progress:hook_progress"))
        if tool == "Bash":
            self.printed = self.chance.randrange(len(self.pools.code.lines))
            for _ in range(plan.take("progress:bash_progress")):
                yield self.bash_progress(plan.length("progress:bash_progress"))
        if tool == "other":
            agent = f"a{self.chance.getrandbits(24):06x}"
            for _ in range(plan.take("progress:agent_progress", AGENT_BURST)):
                yield self.agent_progress(plan.length("progress:agent_progress"), agent)
        yield self.result(tool, plan.length(f"result:{tool}"), call_id, file)
        if tool == "Edit":
            for _ in range(plan.take("file-history-snapshot")):
                yield self.snapshot(plan.length("file-history-snapshot"))


_BETWEEN: Final[dict[str, Callable[[Session, int], str]]] = {
    "system:stop_hook_summary": Session.stop_hooks,
    "system:turn_duration": Session.duration,
    "queue-operation": Session.queued,
    "user:text": Session.prompt,
}

# --- tools: what they are given, and what they give ------------------------------------------------------------------


def _edit_call(session: Session, room: int, file: File) -> str:
    line = session.chance.randrange(400)
    old = file.raw.cut(line, max(room - 120, 30) // 2)
    new = _changed(session, old)
    return f'{{"replace_all":false,"file_path":"{file.path}","old_string":"{old}","new_string":"{new}"}}'


def _changed(session: Session, text: str) -> str:
    """The same lines, a few words other ones."""
    return text.replace(" := ", f" := {session.word()}.", 1) + f"{session.word()}()\\n"


def _bash_call(session: Session, room: int, _: File) -> str:
    command = f"go test ./{session.word()}/... 2>&1 | grep -E '{session.word()}'"
    command += " && " + session.pools.code.piece(session.chance, room - 150) if room > 200 else ""
    return f'{{"command":"{command}","description":"{session.prose(min(room // 3, 60))}"}}'


def _write_call(session: Session, room: int, file: File) -> str:
    return f'{{"file_path":"{file.path}","content":"{file.raw.cut(0, room)}"}}'


def _words_call(session: Session, room: int, _: File) -> str:
    return f'{{"taskId":"{session.chance.randrange(9)}","description":"{session.prose(room - 40)}"}}'


_CALLS: Final[dict[str, Callable[[Session, int, File], str]]] = {
    "Bash": _bash_call,
    "Read": lambda session, room, file: f'{{"file_path":"{file.path}"}}',
    "Edit": _edit_call,
    "Grep": lambda session, room, file: (
        f'{{"pattern":"{session.word()}.*{session.word()}","path":"{file.path}","output_mode":"content"}}'
    ),
    "Write": _write_call,
    "Glob": lambda session, room, file: f'{{"pattern":"**/{session.word()}_*.go"}}',
    "TodoWrite": _words_call,
    "other": _words_call,
}


def _read_result(session: Session, room: int, file: File) -> tuple[str, str]:
    reminder = REMINDER if room > 2 * len(REMINDER) else ""
    raw, shown, first, count = file.slices(session.chance, room - 120 - len(reminder))
    return shown + reminder, (
        f'{{"type":"text","file":{{"filePath":"{file.path}","content":"{raw}","numLines":{count},"startLine":{first},'
        '"totalLines":3000}}'
    )


def _edit_result(session: Session, room: int, file: File) -> tuple[str, str]:
    small = min(max(room // 12, 40), 1200)
    line = session.chance.randrange(400)
    old = file.raw.cut(line, small)
    new = _changed(session, old)
    lines = [*(f'"-{part}"' for part in _split(old)), *(f'"+{part}"' for part in _split(new))]
    patch = ",".join(lines)
    shown = file.shown.cut(line, small)
    rest = max(room - 2 * len(patch) - len(shown) - 560, 0)
    return (
        f"The file {file.path} has been updated. Here's the result of running `cat -n` on a snippet:\\n{shown}",
        f'{{"filePath":"{file.path}","oldString":"{old}","newString":"{new}","originalFile":"{file.raw.cut(0, rest)}",'
        f'"structuredPatch":[{{"oldStart":{line},"oldLines":{len(lines)},"newStart":{line},"newLines":{len(lines)},'
        f'"lines":[{patch}]}}],"userModified":false,"replaceAll":false}}',
    )


def _split(text: str) -> list[str]:
    """Lines of an escaped text, without halves of an escape at its end."""
    return [part for part in re.split(r"(?<!\\)\\n", text) if part and not part.endswith("\\")][:40]


def _bash_result(session: Session, room: int, _: File) -> tuple[str, str]:
    output = session.pools.code.cut(session.printed, room // 2)
    return output, f'{{"stdout":"{output}","stderr":"","interrupted":false,"isImage":false}}'


def _grep_result(session: Session, room: int, file: File) -> tuple[str, str]:
    first, taken, size = session.chance.randrange(2500), [], 0
    name = file.path
    while size < room // 2 - 60:
        line = f"{name}:{first}:{file.raw.lines[first % 3000]}"
        taken.append(line)
        size += len(line)
        first += 7
    text = "".join(taken)
    return text, f'{{"mode":"content","numFiles":0,"filenames":[],"content":"{text}","numLines":{len(taken)}}}'


def _write_result(session: Session, room: int, file: File) -> tuple[str, str]:
    content = file.raw.cut(0, room)
    return (
        f"File created successfully at: {file.path}",
        f'{{"type":"create","filePath":"{file.path}","content":"{content}","structuredPatch":[],"originalFile":null}}',
    )


def _glob_result(session: Session, room: int, file: File) -> tuple[str, str]:
    names = [f"{file.path[:-3]}_{session.word()}.go" for _ in range(max(room // 2 // (len(file.path) + 12), 1))]
    listed = ",".join(f'"{name}"' for name in names)
    return "\\n".join(names), f'{{"filenames":[{listed}],"durationMs":250,"numFiles":{len(names)},"truncated":false}}'


def _words_result(session: Session, room: int, _: File) -> tuple[str, str]:
    text = session.prose(room // 2)
    return text, f'{{"status":"completed","content":[{{"type":"text","text":"{text}"}}],"totalToolUseCount":3}}'


_RESULTS: Final[dict[str, Callable[[Session, int, File], tuple[str, str]]]] = {
    "Bash": _bash_result,
    "Read": _read_result,
    "Edit": _edit_result,
    "Grep": _grep_result,
    "Write": _write_result,
    "Glob": _glob_result,
    "TodoWrite": _words_result,
    "other": _words_result,
}

# --- homes -----------------------------------------------------------------------------------------------------------


class Made:
    """What was generated."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.paths: list[str] = []
        self.size = 0


def generate(home: str, size: int, seed: int = 1, sessions: int | None = None) -> Made:
    """Write a home of about so many bytes; with a number of sessions, these are as large as that makes them."""
    chance, figures, made = random.Random(seed), calibration(), Made(home)
    pools, plan = Pools(chance), Plan(figures)
    mean = sum(figures.sessions) / len(figures.sessions)
    count = sessions or max(round(size / mean), 1)
    scale = size / count / mean
    slugs = [f"-home-dev-{chance.choice(pools.words)}-{chance.choice(pools.words)}-cli" for _ in range(count // 6 + 1)]
    for slug in slugs:
        os.makedirs(os.path.join(home, "projects", slug), exist_ok=True)
    for number in range(count):
        place = (number * GOLDEN + 0.37) % 1
        wanted = figures.sessions[int(place * len(figures.sessions))] * scale
        slug = slugs[number % len(slugs)]
        session = Session(pools, plan, chance, slug)
        path = os.path.join(home, "projects", slug, f"{session.id}.jsonl")
        made.size += write(path, session.records(figures.signature), wanted)
        made.paths.append(path)
    return made


def one_session(path: str, size: int, seed: int = 1) -> None:
    """Write one transcript of about so many bytes."""
    chance, figures = random.Random(seed), calibration()
    session = Session(Pools(chance), Plan(figures), chance, "-home-dev-large-cli")
    write(path, session.records(figures.signature), size)


def write(path: str, records: Iterator[str], size: float) -> int:
    """Write records until there are so many bytes of them; gives how many there are."""
    total = 0
    with open(path, "w", encoding="latin-1", newline="\n", buffering=1024 * 1024) as file:
        for record in records:
            total += file.write(record)
            if total >= size:
                return total
    return total


def byte_count(text: str) -> int:
    """`1GB`, `200 MB`, `5000`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMG]?)B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes, such as 200MB or 1GB")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def main() -> int:
    """Generate what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m bench.generate", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", required=True, metavar="DIR", help="the home to make, as CLAUDE_CONFIG_DIR wants it")
    parser.add_argument("--bytes", type=byte_count, default=byte_count("200MB"), help="how large, about: 200MB, 1GB")
    parser.add_argument("--sessions", type=int, help="how many; else as many as there are in a real home of this size")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    began = time.perf_counter()
    made = generate(args.out, args.bytes, args.seed, args.sessions)
    seconds = time.perf_counter() - began
    print(
        json.dumps({"home": made.home, "sessions": len(made.paths), "bytes": made.size, "seconds": round(seconds, 2)})
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
