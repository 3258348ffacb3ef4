"""A session as a markdown document: prompts and answers in full, everything else folded to a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from retro.event import Actor, Event, EventType, Origin, Session
from retro.surfaces.blocks import (
    DIFF_LINES,
    TASK_LINES,
    Block,
    aside,
    compaction,
    diff,
    ending,
    excerpt,
    failed,
    has,
    images,
    is_prompt,
    is_prose,
    item,
    laid_out,
    message,
    prompt_words,
    prose_blocks,
    quote,
    trouble,
)
from retro.surfaces.prose import (
    DEEPEST,
    LINE_WIDTH,
    code_span,
    cut_to,
    flat_text,
    folded_lines,
    lines_of,
    plural,
    words_of,
)
from retro.surfaces.times import LONG_GAP, moment_of, time_words, when_words
from retro.surfaces.words import CALL_WORDS, FOLDED_LINES, HEADING_WIDTH, agent_words, payload_text


def render(session: Session, events: Iterable[Event], *, accounting_line: str | None = None) -> Iterator[str]:
    """Yield a session as chunks of markdown, holding no more than one turn.

    Events come masked, without duplicates and in reading order: the main source by sequence, the events of each
    sub-agent directly behind the call that started it, `turn` filled in.
    """
    yield from laid_out(_document(session, events, accounting_line))


def render_text(event: Event) -> str:
    """One line of plain text for an event: its type, who did it, its summary."""
    who = event.actor.value + (f" {event.agent_id}" if event.agent_id else "")
    return cut_to(f"{event.event_type.value:<14} {flat_text(who)}: {flat_text(event.summary)}", LINE_WIDTH)


# The document.


def _document(session: Session, events: Iterable[Event], accounting_line: str | None) -> Iterator[Block]:
    yield Block([f"# {words_of(session.title or '', 120) or '(untitled session)'}"])
    yield Block([f"- {fact}" for fact in _facts(session, accounting_line)])
    last = moment_of(session.started)
    empty = True
    for number, held in _turns(events):
        if number is None and not any(map(_worth_showing, held)):
            continue
        empty = False
        view = _view(held, session.cwd or "")
        prompt = next((event for event in view.events if is_prompt(event) and not event.agent_id), None)
        if number is None:
            yield Block(["## Before the first prompt"])
        else:
            yield Block([f"## {number} · {words_of(prompt_words(prompt), HEADING_WIDTH) or '(no text)'}"])
        now = moment_of((prompt or held[0]).timestamp)
        if now:
            yield Block([f"*{time_words(last, now)}*"])
        yield from _turn(view, now)
        last = max((moment for event in held if (moment := moment_of(event.timestamp))), default=last)
    if empty:
        yield Block(["*Nothing was said in this session.*"])


def _turns(events: Iterable[Event]) -> Iterator[tuple[int | None, list[Event]]]:
    """Events by turn. One without a turn, or with an earlier one, stays in the turn that it stands in."""
    number: int | None = None
    held: list[Event] = []
    for event in events:
        if event.turn is not None and (number is None or event.turn > number):
            if held:
                yield number, held
            number, held = event.turn, []
        held.append(event)
    if held:
        yield number, held


def _facts(session: Session, accounting_line: str | None) -> Iterator[str]:
    """The head's lines: where it took place, when, what it came to."""
    where = [f"**{words_of(session.host, 40)}**"]
    if session.project:
        where.append(words_of(session.project, 80))
    if session.branch:
        where.append(f"branch {code_span(session.branch)}")
    yield " · ".join([*where, *(code_span(model) for model in session.models)])
    when = when_words(moment_of(session.started), moment_of(session.ended))
    if when:
        yield when
    counts = [(session.edits, "file edit"), (session.commands, "command"), (session.errors, "error")]
    counts.append((session.agents, "sub-agent"))
    yield " · ".join([plural(session.turns, "turn"), *(plural(n, noun) for n, noun in counts if n)])
    yield f"session {code_span(session.session_id)}" + (
        f", continues {code_span(session.parent)}" if session.parent else ""
    )
    if accounting_line:
        yield f"accounting: {words_of(accounting_line, 1_000)}"


def _worth_showing(event: Event) -> bool:
    """Whether an event before the first prompt is reason enough for a section of its own."""
    if event.event_type in (EventType.SESSION_START, EventType.SESSION_END):
        return False
    return not (event.event_type is EventType.MESSAGE and event.origin is Origin.MACHINE)


# A turn.


class _View(NamedTuple):
    """What a turn shows: its events without those folded into others, their results, who spoke, where it stopped."""

    events: list[Event]
    results: dict[tuple[str | None, str], Event]
    speakers: frozenset[str | None]
    interrupt: int
    cwd: str


_CALLS: Final = frozenset(
    {
        EventType.COMMAND,
        EventType.FILE_READ,
        EventType.FILE_EDIT,
        EventType.WEB_SEARCH,
        EventType.TOOL_CALL,
        EventType.SUBAGENT_START,
    }
)


def _view(held: list[Event], cwd: str) -> _View:
    shown, results = _fold(held)
    speakers = frozenset(event.agent_id for event in shown if is_prose(event))
    interrupt = max((index for index, event in enumerate(shown) if has(event, "interrupt")), default=-1)
    return _View(shown, results, speakers, interrupt, cwd)


def _fold(held: list[Event]) -> tuple[list[Event], dict[tuple[str | None, str], Event]]:
    """Take out what is shown as a part of another event: results of known calls, tasks and last words said twice."""
    calls = {(e.agent_id, e.call_id) for e in held if e.event_type in _CALLS and e.call_id}
    tasks = {(e.text or "").strip() for e in held if e.event_type is EventType.SUBAGENT_START}
    said = {(e.agent_id, (e.text or "").strip()) for e in held if is_prose(e)}
    shown: list[Event] = []
    results: dict[tuple[str | None, str], Event] = {}
    asides: set[tuple[str | None, str, str]] = set()
    typed: Event | None = None
    for event in held:
        text = (event.text or "").strip()
        if event.event_type is EventType.COMMAND and event.actor is Actor.USER and not event.call_id:
            typed = event
        elif event.event_type is EventType.TOOL_RESULT and not event.call_id and typed is not None:
            results.setdefault((typed.agent_id, typed.event_id), event)
            continue
        if _is_repeated(event, text, asides):
            continue
        if event.event_type is EventType.TOOL_RESULT and event.call_id and (event.agent_id, event.call_id) in calls:
            results[event.agent_id, event.call_id] = event
            continue
        if event.agent_id and event.origin is Origin.AGENT and text in tasks:
            continue
        if event.event_type is EventType.SUBAGENT_END and (event.agent_id, text) in said:
            continue
        if (is_prose(event) or event.event_type is EventType.REASONING) and not text and not images(event):
            continue
        shown.append(event)
    return shown, results


def _is_repeated(event: Event, text: str, asides: set[tuple[str | None, str, str]]) -> bool:
    """Whether an aside says nothing, or what one like it has said in this turn: hooks do so at every call."""
    is_aside = event.event_type is EventType.ATTACHMENT or event.event_type is EventType.MESSAGE
    if not is_aside or event.origin in (Origin.HUMAN, Origin.AGENT, None) or images(event) or has(event, "interrupt"):
        return False
    if not text:
        return event.event_type is EventType.MESSAGE and event.origin is Origin.MACHINE
    key = (event.agent_id, payload_text(event, "kind"), text)
    repeated = key in asides
    asides.add(key)
    return repeated


def _turn(view: _View, since: datetime | None) -> Iterator[Block]:
    """The blocks of a turn, each sub-agent's one level below the call that started it."""
    path: list[str] = []
    before: Event | None = None
    last = since
    for index, event in enumerate(view.events):
        path, strange = _descend(path, before, event, view)
        if strange:
            yield item(f"sub-agent {code_span(event.agent_id or '')}")._replace(depth=min(len(path) - 1, DEEPEST))
        now = moment_of(event.timestamp)
        if now and not event.agent_id:
            if last and (now - last > LONG_GAP or now.date() > last.date()):
                yield Block([f"*{time_words(last, now)}*"])
            last = max(last, now) if last else now
        for block in _event(view, index):
            yield block._replace(depth=min(len(path), DEEPEST) + block.depth)
        before = event


def _descend(path: list[str], before: Event | None, event: Event, view: _View) -> tuple[list[str], bool]:
    """The agents that an event stands below, outermost first, and whether the last one's call is not in sight."""
    agent = event.agent_id
    if not agent:
        return [], False
    if agent in path:
        return path[: path.index(agent) + 1], False
    calls = before is not None and before.event_type is EventType.SUBAGENT_START
    if before is not None and calls and _started(before, view) in (None, agent):
        return [*path, agent], False
    return [agent], True


def _started(call: Event, view: _View) -> str | None:
    """The sub-agent that a call started, where the call or its result names it."""
    for event in (call, _result(call, view)):
        agent = payload_text(event, "agent_id") if event else ""
        if agent:
            return agent
    return None


def _result(call: Event, view: _View) -> Event | None:
    return view.results.get((call.agent_id, call.call_id or call.event_id))


def _event(view: _View, index: int) -> Iterator[Block]:
    """One event's blocks, relative to the depth of its agent."""
    event = view.events[index]
    if event.event_type is EventType.COMMAND and event.actor is Actor.USER:
        yield from _shell_mode(event, view)
    elif event.event_type is EventType.SUBAGENT_START:
        yield from _agent_call(view, index)
    elif event.event_type in _CALLS:
        yield _call(event, view, index)
    elif event.event_type is EventType.TOOL_RESULT:
        name = f" of {code_span(event.tool)}" if event.tool else ""
        yield item(f"result{name}, its call is not in this turn{ending(event)}", below=trouble(event))
    elif event.event_type is EventType.COMPACTION:
        yield from compaction(event)
    elif event.event_type is EventType.REASONING:
        lines = folded_lines(event.text or "", FOLDED_LINES)
        yield Block(quote([f"✻ {lines[0]}", *lines[1:]]) if lines else ["> ✻"])
    elif event.event_type is EventType.MESSAGE:
        yield from message(event)
    elif event.event_type is EventType.SUBAGENT_END:
        yield from prose_blocks(event)
    else:
        yield from aside(event)


def _shell_mode(event: Event, view: _View) -> Iterator[Block]:
    """A command that the person ran; its output was wanted, so some of it is shown."""
    lines = [line for line in lines_of(event.command or event.text or "") if line.strip()]
    shown = "  \n".join(code_span(f"!{line}", LINE_WIDTH) for line in lines[:DIFF_LINES]) or "`!`"
    yield Block(quote(shown.split("\n")))
    result = _result(event, view)
    if result is not None:
        yield item(f"output{ending(result, count=True)}", below=excerpt(result))


# Calls and what came of them.


def _call(event: Event, view: _View, index: int) -> Block:
    """A tool call and its result, folded to a line; below it a diff, or what went wrong."""
    result = _result(event, view)
    count = event.event_type in (EventType.COMMAND, EventType.TOOL_CALL, EventType.WEB_SEARCH)
    outcome = ending(result, count=count) if result else f" → {_unanswered(view, index)}"
    below = trouble(result) if result else []
    if event.event_type is EventType.FILE_EDIT and not (result and failed(result) and not has(result, "rejected")):
        below = [*diff(event), *below]
    return item(CALL_WORDS[event.event_type](event, view.cwd) + outcome, below=below)


def _agent_call(view: _View, index: int) -> Iterator[Block]:
    """The start of a sub-agent: its task and, where its own words are not at hand, its answer."""
    call, result = view.events[index], _result(view.events[index], view)
    outcome = ending(result) if result else f" → {_unanswered(view, index)}"
    yield item(agent_words(call, view.cwd) + outcome, below=trouble(result) if result else [])
    if (call.text or "").strip():
        yield Block(quote(folded_lines(call.text or "", TASK_LINES)), depth=1)
    follower = view.events[index + 1].agent_id if index + 1 < len(view.events) else None
    agent = _started(call, view) or (follower if follower != call.agent_id else None)
    spoke = agent is not None and agent in view.speakers
    if result and not spoke and not failed(result) and not has(result, "background"):
        yield from (block._replace(depth=1) for block in prose_blocks(result))


def _unanswered(view: _View, index: int) -> str:
    """Why a call has no result."""
    if has(view.events[index], "background"):
        return "runs on in the background"
    return "interrupted" if index < view.interrupt else "no result"
