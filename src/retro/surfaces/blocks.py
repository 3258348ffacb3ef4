"""How each kind of event looks as blocks of markdown: what was said, how a call ended, what stands beside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Final, NamedTuple

from retro.event import Actor, Event, EventType, Origin
from retro.surfaces.prose import (
    LINE_WIDTH,
    code_span,
    cut_to,
    fenced_block,
    folded_lines,
    line_count,
    lines_of,
    plural,
    prose_lines,
    words_of,
)
from retro.surfaces.times import duration_words
from retro.surfaces.words import FOLDED_LINES, HEADING_WIDTH, path_words, payload_text

DIFF_LINES: Final = 60
OUTPUT_HEAD: Final = 4
OUTPUT_TAIL: Final = 8
TASK_LINES: Final = 8
LONG_CALL_MS: Final = 10_000


# Layout: the document is a row of blocks.


class Block(NamedTuple):
    """Lines that stand together, at the depth of the agent they belong to; items form lists."""

    lines: list[str]
    item: bool = False
    depth: int = 0


def laid_out(blocks: Iterable[Block]) -> Iterator[str]:
    """Blocks as text: a blank line between any two, but none between the items of a list."""
    previous: Block | None = None
    for block in blocks:
        pad = "  " * block.depth
        close = previous is None or (previous.item and block.item)
        text = "".join(f"{pad}{line}\n" if line else "\n" for line in block.lines)
        yield text if close else "\n" + text
        previous = block


def item(line: str, *, mark: str = "▸", below: Iterable[str] = ()) -> Block:
    """A list item, with lines (a fence) that belong to it."""
    return Block([f"- {mark} {line}", *(f"  {under}" if under else "" for under in below)], item=True)


def quote(lines: Iterable[str]) -> list[str]:
    """Lines as a quotation."""
    return [f"> {line}" if line else ">" for line in lines]


# What was said.


def message(event: Event) -> Iterator[Block]:
    """A message, as what it is: an answer, a prompt, a summary, a task, or an aside."""
    if has(event, "interrupt"):
        yield item("interrupted by the person", mark="■")
    elif is_prose(event):
        yield from prose_blocks(event)
    elif is_prompt(event):
        yield _prompt(event)
    elif payload_text(event, "kind") == "compact_summary":
        yield Block(quote(folded_lines(event.text or "", FOLDED_LINES)))
    elif event.origin is Origin.AGENT:
        yield Block(quote(folded_lines(event.text or event.summary, TASK_LINES)))
    else:
        yield from aside(event)


def is_prose(event: Event) -> bool:
    """Whether an agent said it."""
    return event.event_type is EventType.MESSAGE and event.actor in (Actor.ASSISTANT, Actor.SUBAGENT)


def is_prompt(event: Event) -> bool:
    """Whether a person said it: a prompt, a slash command, a command in shell mode, a text queued meanwhile."""
    if event.actor is not Actor.USER or has(event, "interrupt"):
        return False
    if event.event_type is EventType.MESSAGE:
        return event.origin in (Origin.HUMAN, None)
    return event.event_type is EventType.COMMAND


def prompt_words(prompt: Event | None) -> str:
    """A prompt as the words of a heading."""
    if prompt is None:
        return "(no prompt)"
    if prompt.event_type is EventType.COMMAND:
        return f"!{prompt.command or prompt.text or ''}"
    words = " ".join((payload_text(prompt, "slash_command"), _arguments(prompt))).strip()
    return words or ("(image)" if images(prompt) else "")


def _arguments(prompt: Event) -> str:
    """A prompt's text without the slash command that it starts with."""
    text = (prompt.text or "").strip()
    slash = payload_text(prompt, "slash_command")
    return text[len(slash) :].strip() if slash and text.startswith(slash) else text


def _prompt(event: Event) -> Block:
    """What a person said, in full, as a quotation."""
    slash = payload_text(event, "slash_command")
    text = _arguments(event)
    lines = [code_span(slash) + ("  " if text else "")] if slash else []
    lines += prose_lines(text, quoted=True) if text else []
    for note in _notes(event):
        lines += [*([""] if lines else []), note]
    return Block(quote(lines or ["*(empty)*"]))


def prose_blocks(event: Event) -> Iterator[Block]:
    """What an agent said, in full."""
    if (event.text or "").strip():
        yield Block(prose_lines(event.text or ""))
    for note in _notes(event):
        yield Block([note])


# How a call ended.


def failed(result: Event) -> bool:
    """Whether a call went wrong or was refused."""
    return bool(result.is_error) or bool(result.exit_code) or has(result, "rejected")


def ending(result: Event, *, count: bool = False) -> str:
    """How a call ended, as ` → …`; nothing where all went well and there is nothing to count."""
    parts: list[str] = []
    if has(result, "rejected"):
        parts.append("rejected by the person")
    elif has(result, "background"):
        parts.append("runs on in the background")
    else:
        if result.exit_code:
            parts.append(f"exit {result.exit_code}")
        elif result.is_error:
            parts.append("failed")
        if count:
            parts.append(plural(line_count(result.text), "line") if line_count(result.text) else "no output")
    if result.duration_ms and result.duration_ms >= LONG_CALL_MS:
        parts.append(duration_words(timedelta(milliseconds=result.duration_ms)))
    parts += [words for words in (_image_words(result), _cut_at(result)) if words]
    return f" → {', '.join(parts)}" if parts else ""


def trouble(result: Event) -> list[str]:
    """The output of a call that failed; of a refused one what the person said, behind the host's notice."""
    if not failed(result):
        return []
    return excerpt(result, skip=1 if has(result, "rejected") else 0)


def excerpt(result: Event, *, skip: int = 0) -> list[str]:
    """The first and last lines of an output, fenced."""
    lines = [cut_to(line, LINE_WIDTH) for line in lines_of((result.text or "").strip("\r\n"))][skip:]
    if not any(line.strip() for line in lines):
        return []
    hidden = len(lines) - OUTPUT_HEAD - OUTPUT_TAIL
    if hidden > 1:
        lines[OUTPUT_HEAD:-OUTPUT_TAIL] = [f"… {hidden:,} more lines …"]
    return fenced_block(lines)


def diff(event: Event) -> list[str]:
    """The change as a diff, bounded."""
    if payload_text(event, "change") in ("write", "delete", "move") or not (event.text or "").strip():
        return []
    lines = [cut_to(line, LINE_WIDTH) for line in lines_of((event.text or "").strip("\r\n"))]
    hidden = len(lines) - DIFF_LINES
    notes = [f"*… {plural(hidden, 'more line')}*"] if hidden > 0 else []
    if event.truncated:
        notes.append(f"*({_cut_at(event)})*")
    return [*fenced_block(lines[:DIFF_LINES], "diff"), *notes]


# What stands beside the conversation.


def compaction(event: Event) -> Iterator[Block]:
    """A rule, what was compacted, and the first lines of the summary."""
    facts = [words_of(trigger, 40)] if (trigger := payload_text(event, "trigger")) else []
    sizes = [f"{size:,}" for key in ("pre_tokens", "post_tokens") if (size := _number(event, key))]
    facts += [f"{' → '.join(sizes)} tokens"] if sizes else []
    yield Block(["---"])
    yield Block([f"**Context compacted** ({', '.join(facts)})" if facts else "**Context compacted**"])
    lines = folded_lines(event.text or "", FOLDED_LINES)
    if lines:
        yield Block(quote(lines))


def aside(event: Event) -> Iterator[Block]:
    """One line for what is neither said nor done by person or model, and for every failed request."""
    words = _glance(event.text or event.summary)
    kind = words_of(payload_text(event, "kind"), 60)
    if event.event_type is EventType.ERROR:
        details = [f"status {n}" for n in (_number(event, "status"),) if n]
        details += [f"attempt {n}" for n in (_number(event, "attempt"),) if n]
        label = f"**{kind or 'error'}**" + (f" ({', '.join(details)})" if details else "")
        yield item(_joined(label, words), mark="✗")
        return
    if event.event_type is EventType.ATTACHMENT and event.origin is Origin.HUMAN and event.text:
        yield _prompt(event)
        return
    if event.event_type is EventType.UNKNOWN:
        place = f"line {event.raw_ref.line} of {words_of(event.raw_ref.source, 80)}"
        yield item(f"unknown record {code_span(payload_text(event, 'kind') or event.summary)} ({place})", mark="◇")
        return
    notes = ", ".join(note for note in (_image_words(event), _file_words(event)) if note)
    line = _joined(_aside_label(event, kind), words)
    yield item(f"{line} {notes}" if notes else line, mark="◇")


def _glance(text: str) -> str:
    """The first words of a text that nobody typed; with tags in it, as code, where they read best."""
    return (
        (code_span if "<" in text[: HEADING_WIDTH * 8] else words_of)(text, HEADING_WIDTH * 2) if text.strip() else ""
    )


def _aside_label(event: Event, kind: str) -> str:
    """Who put it there, or what it is."""
    if event.event_type is EventType.MESSAGE:
        host_wrote = event.origin is Origin.MACHINE or (event.origin is None and event.actor is Actor.SYSTEM)
        return "from the host" if host_wrote else f"injected by {kind or event.actor.value}"
    if event.event_type is EventType.ATTACHMENT and (kind in _ATTACHED or "hook" in kind):
        return _ATTACHED.get(kind, "a hook said")
    name = {
        EventType.ATTACHMENT: "attached",
        EventType.PERMISSION: "permission",
        EventType.SESSION_START: "session started",
        EventType.SESSION_END: "session ended",
    }.get(event.event_type, event.event_type.value)
    return f"{name} ({kind})" if kind else name


_ATTACHED: Final = {
    "ai-title": "titled",
    "custom-title": "titled",
    "directory": "attached folder",
    "file": "attached file",
    "instructions": "instructions",
    "mcp_instructions_delta": "instructions of a server",
    "pr-link": "pull request",
    "query_update": "query",
    "queue-operation": "queued",
    "summary": "titled",
}
"""What a person calls what a host attaches."""


def _joined(label: str, words: str) -> str:
    return f"{label}: {words}" if words else label


def _file_words(event: Event) -> str:
    return path_words(event, "") if event.paths else ""


def images(event: Event) -> list[dict[str, object]]:
    """The images of an event, described."""
    listed = (event.payload or {}).get("images")
    return [image for image in listed if isinstance(image, dict)] if isinstance(listed, list) else []


def _image_words(event: Event) -> str:
    return " ".join(
        code_span(f"[image {image.get('media_type') or 'unknown type'}, {_size_words(image.get('bytes'))}]")
        for image in images(event)
    )


def _size_words(size: object) -> str:
    if not isinstance(size, int) or size < 0:
        return "size unknown"
    if size < 1024:
        return f"{size} B"
    return f"{size / 1024:.1f} KB" if size < 1024 * 1024 else f"{size / 1024 / 1024:.1f} MB"


def _cut_at(event: Event) -> str:
    """Where the rest of a truncated text is: `retro raw` shows a line of a source."""
    return (
        f"cut at 256 KiB; line {event.raw_ref.line} of {words_of(event.raw_ref.source, 80)}" if event.truncated else ""
    )


def _notes(event: Event) -> list[str]:
    """What belongs below a text: its images, and where the rest of it is."""
    cut = _cut_at(event)
    return [note for note in (_image_words(event), f"*({cut})*" if cut else "") if note]


def _number(event: Event, key: str) -> int:
    value = (event.payload or {}).get(key)
    return value if isinstance(value, int) else 0


def has(event: Event, key: str) -> bool:
    """Whether an event's payload says that this is so."""
    return (event.payload or {}).get(key) is True
