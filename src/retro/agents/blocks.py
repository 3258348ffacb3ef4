"""Messages made of typed blocks, as most model APIs have them: text, thoughts, calls, results, images."""

from __future__ import annotations

from typing import Final

from retro.agents.emitter import one_line
from retro.agents.fields import Fields, as_text, blocks, first, first_words, mapping, string, text_in
from retro.agents.plain import PlainReader, exit_in, image_in
from retro.event import Actor, EventType

TEXTS: Final = frozenset({"text", "input_text", "output_text"})
THOUGHTS: Final = frozenset({"thinking", "reasoning", "think"})
CALLS: Final = frozenset({"tool_use", "tool_call", "toolCall", "tool-call", "function_call", "server_tool_use"})
RESULTS: Final = frozenset({"tool_result", "tool-result", "toolResult", "function_call_output"})
IMAGES: Final = frozenset({"image", "input_image", "document"})

_REMINDER: Final = ("<system-reminder>", "</system-reminder>")


def answered(reader: PlainReader, content: object) -> None:
    """What a message of the model says, thinks and calls, block by block."""
    for block in blocks(content):
        kind = string(block.get("type")) or "text"
        if kind in TEXTS:
            _said(reader, block)
        elif kind in THOUGHTS:
            reader.think(first_words(block, "thinking", "text", "think", "reasoning") or text_in(block.get("summary")))
        elif kind in CALLS:
            called(reader, block)
        else:
            other(reader, block, kind)


def _said(reader: PlainReader, block: Fields) -> None:
    """Words; a block that has no place for any is one that we do not know."""
    if "text" in block:
        reader.answer(text_in(block["text"]))
    elif block:
        other(reader, block, string(block.get("type")) or "(none)")


def called(reader: PlainReader, block: Fields) -> None:
    """A call."""
    given = next((block[name] for name in ("input", "arguments", "args", "parameters") if name in block), None)
    name = first(block, "name", "toolName", "tool_name") or "tool"
    reader.call(first(block, "id", "toolCallId", "call_id"), name, given)


def returned(reader: PlainReader, block: Fields) -> None:
    """A result."""
    content = next((block[name] for name in ("content", "output", "result") if name in block), None)
    failed = next((block[name] for name in ("is_error", "isError") if isinstance(block.get(name), bool)), None)
    if failed is None and str(mapping(content).get("type")).startswith("error-"):
        failed = True
    reader.result(
        first(block, "tool_use_id", "toolCallId", "tool_call_id", "call_id", "id"),
        text_in(content),
        tool=first(block, "name", "toolName"),
        is_error=bool(failed) if failed is not None else None,
        exit_code=exit_in(content),
    )


def asked(reader: PlainReader, content: object) -> None:
    """What a message in a person's place holds: results, what the host put before a prompt, the prompt."""
    texts, images = [], []
    for block in blocks(content):
        kind = string(block.get("type")) or "text"
        if kind in RESULTS:
            returned(reader, block)
        elif kind in IMAGES:
            images.append(image_in(block))
        elif kind in TEXTS and "text" in block:
            texts.append(text_in(block["text"]))
        elif block:
            other(reader, block, kind)
    spoke(reader, "\n".join(filter(None, texts)), list[object](images))


def spoke(reader: PlainReader, text: str, images: list[object] | None = None) -> None:
    """A prompt, and before it the reminders that the host put there."""
    begin, end = _REMINDER
    while text.startswith(begin) and end in text:
        reminder, _, text = text.partition(end)
        reader.inject(reminder.removeprefix(begin).strip(), "system-reminder")
        text = text.lstrip("\n")
    if text.strip() or images:
        reader.prompt(text, images=images)


def other(reader: PlainReader, block: Fields, kind: str) -> None:
    """A block that we do not know, kept whole."""
    text = as_text(block)
    reader.out.emit(Actor.SYSTEM, EventType.UNKNOWN, one_line(text), text, payload={"kind": f"block:{kind}"})


def is_result_only(content: object) -> bool:
    """Whether a message holds nothing but results."""
    kinds = [string(block.get("type")) for block in blocks(content)]
    return bool(kinds) and all(kind in RESULTS for kind in kinds)


def failed_in(message: Fields) -> str | None:
    """The error that a message tells of."""
    return first(message, "errorMessage", "error") or first(mapping(message.get("error")), "message")
