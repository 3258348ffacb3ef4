"""A session as one HTML file that needs nothing beside it: no script, no address, and markup only of our own making."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib import resources
from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

from retro.event import Actor, Event, EventType, Origin, Session
from retro.surfaces import marked
from retro.surfaces.prose import plural
from retro.turns import is_failure, is_prompt

_CALLS: Final = {
    EventType.COMMAND: "ran",
    EventType.FILE_READ: "read",
    EventType.FILE_EDIT: "edited",
    EventType.WEB_SEARCH: "searched",
    EventType.TOOL_CALL: "called",
    EventType.SUBAGENT_START: "sub-agent",
}
OUTLINED: Final = 4
"""Turns from which on they are listed."""
# What no HTML may hold, and what would turn the direction of text or hide within it.
_UNSAFE: Final = {
    **dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(0x7F, 0xA0)], "�"),
    **dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "�"),
    **dict.fromkeys([*range(0xD800, 0xE000), 0xFFFE, 0xFFFF, *range(0xE0000, 0xE0080)], "�"),
}


def page(session: Session, events: Iterable[Event], masked: Mapping[str, int]) -> bytes:
    """The whole file; `masked` says what was taken out, and how often."""
    style = resources.files("retro.surfaces").joinpath("page.css").read_text("utf-8")
    root = Element("html", lang="en")
    head = SubElement(root, "head")
    SubElement(head, "meta", charset="utf-8")
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    SubElement(head, "meta", {"http-equiv": "Content-Security-Policy", "content": policy})
    SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    _text(SubElement(head, "title"), session.title or session.session_id)
    SubElement(head, "style").text = style
    body = SubElement(root, "body")
    told = list(events)
    _head(body, session, masked)
    _outline(body, told)
    _story(body, told, (session.cwd or "").rstrip("/") + "/")
    content: bytes = tostring(root, encoding="utf-8", method="html")
    return b"<!doctype html>\n" + content + b"\n"


def _head(body: Element, session: Session, masked: Mapping[str, int]) -> None:
    _text(SubElement(body, "h1"), session.title or "(untitled)")
    began = session.started[:16].replace("T", " ") + " UTC" if session.started else ""
    facts = (session.host, session.project, session.branch, *session.models, began)
    _text(SubElement(body, "p", {"class": "facts"}), " · ".join(filter(None, facts)))
    counts = (
        (session.turns, "turn"),
        (session.commands, "command"),
        (session.edits, "file edit"),
        (session.errors, "error"),
    )
    _text(
        SubElement(body, "p", {"class": "facts"}), " · ".join(plural(number, noun) for number, noun in counts if number)
    )
    taken = ", ".join(f"{name} {number:,}" for name, number in sorted(masked.items()))
    _text(SubElement(body, "p", {"class": "notes"}), f"Masked: {taken}" if taken else "Nothing in it had to be masked.")


def _outline(body: Element, events: list[Event]) -> None:
    """What was asked, turn by turn, with the way there; of a long session alone."""
    prompts = {event.turn: event for event in reversed(events) if event.turn and is_prompt(event)}
    if len(prompts) < OUTLINED:
        return
    fold = SubElement(body, "details", {"class": "outline"})
    _text(SubElement(fold, "summary"), plural(len(prompts), "turn"))
    listed = SubElement(fold, "ol")
    for turn, prompt in sorted(prompts.items()):
        entry = SubElement(listed, "li", value=str(turn))
        _text(SubElement(entry, "a", href=f"#turn-{turn}"), " ".join((prompt.text or prompt.summary).split())[:120])


def _story(body: Element, events: list[Event], folder: str) -> None:
    results = {(e.agent_id, e.call_id): e for e in events if e.event_type is EventType.TOOL_RESULT and e.call_id}
    calls = {(e.agent_id, e.call_id) for e in events if e.event_type in _CALLS and e.call_id}
    turn, place, agent = 0, body, None
    for event in events:
        if event.turn and event.turn != turn and event.agent_id is None:
            turn, place, agent = event.turn, body, None
            clock = f" · {event.timestamp[11:16]} UTC" if event.timestamp else ""
            _text(SubElement(body, "h2", id=f"turn-{turn}"), f"Turn {turn}{clock}")
        if event.event_type is EventType.TOOL_RESULT and (event.agent_id, event.call_id) in calls:
            continue
        if event.agent_id != agent:
            agent = event.agent_id
            place = SubElement(body, "div", {"class": "agent"}) if agent else body
        _entry(place, event, results.get((event.agent_id, event.call_id)) if event.call_id else None, folder)


def _entry(place: Element, event: Event, result: Event | None, folder: str) -> None:
    text = (event.text or "").strip("\n")
    if is_prompt(event) or (event.actor is Actor.USER and event.origin is Origin.HUMAN and text):
        _text(SubElement(place, "div", {"class": "prompt"}), text or event.summary)
    elif event.event_type is EventType.MESSAGE and event.actor in (Actor.ASSISTANT, Actor.SUBAGENT):
        if text:
            marked.prose(SubElement(place, "div", {"class": "said"}), text, _text)
    elif event.event_type in _CALLS:
        _call(place, event, result, folder)
    elif event.event_type is EventType.REASONING:
        if text:
            _fold(place, "thought", event.summary, [("", text)])
    elif text or event.event_type is EventType.COMPACTION:
        label = event.event_type.value.replace("_", " ")
        _fold(place, label, event.summary, [("", text)] if len(text) > 160 else [])


def _call(place: Element, event: Event, result: Event | None, folder: str) -> None:
    what = event.command or ", ".join(path.removeprefix(folder) for path in event.paths or ()) or event.summary
    label = _CALLS[event.event_type]
    if event.event_type is EventType.TOOL_CALL and event.tool:
        label, what = f"{label} {event.tool}", event.summary.removeprefix(f"{event.tool} ").replace(folder, "")
    below = []
    if event.command and ("\n" in event.command or len(event.command) > 120):
        below.append(("", event.command))
    if event.event_type is EventType.FILE_EDIT and event.text:
        below.append(("diff", event.text))
    elif event.text and event.text != event.command and event.event_type is not EventType.FILE_READ:
        below.append(("", event.text))
    if result is not None and result.text:
        below.append(("", result.text))
    failed = is_failure(event) or (result is not None and is_failure(result))
    _fold(place, label, what, below, failed=failed)


def _fold(place: Element, label: str, what: str, below: list[tuple[str, str]], *, failed: bool = False) -> None:
    fold = SubElement(place, "details" if below else "div", {"class": "failed" if failed else "aside"})
    line = SubElement(fold, "summary") if below else fold
    _text(line, f"{label} ")
    _text(SubElement(line, "code"), " ".join(what.split())[:300])
    for kind, text in below:
        block = SubElement(fold, "pre")
        if kind != "diff":
            _text(block, text)
            continue
        for row in text.split("\n"):
            name = "a" if row.startswith("+") else "d" if row.startswith("-") else "c"
            _text(SubElement(block, "span", {"class": name}), row if name != "c" else f"{row}\n")


def _text(element: Element, text: str) -> None:
    """Put text, and nothing but text, into an element."""
    element.text = text.translate(_UNSAFE)
