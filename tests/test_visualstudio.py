"""Copilot in Visual Studio: what its traces say of a conversation, file by file."""

from __future__ import annotations

import json
from pathlib import Path

from agent_support import lines, read
from retro import agents
from retro.event import EventType
from support import content, failures
from test_conformance import swept

CONVERSATION = "5d0f3a52-0c3e-4a7e-9d38-3f1f0a9f6b11"
PROMPT = "why is high water late?"
TRACES = "AppData/Local/Temp/VSGitHubCopilotLogs/traces"


def line(number: int, name: str, **told: object) -> str:
    """A line with one span; a text is a text, a number a number in a text."""
    told = {"gen_ai.conversation.id": CONVERSATION, "copilot_chat.root_request_id": "r1", **told}
    attributes = [
        {"key": key, "value": {"intValue" if isinstance(value, int) else "stringValue": str(value)}}
        for key, value in told.items()
    ]
    span = {
        "traceId": "t",
        "spanId": str(number),
        "name": name,
        "startTimeUnixNano": str((1788249600 + number) * 10**9),
        "attributes": attributes,
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}) + "\n"


def chat(number: int, said: str) -> str:
    """A request to the model, with the prompt that it goes back to."""
    asked = [{"role": "user", "parts": [{"type": "text", "content": PROMPT}]}]
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": said}]}]
    told = {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(answer)}
    return line(number, "chat m", **told, **{"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": number})


def test_a_turn_that_goes_on_in_the_next_file_has_one_prompt(tmp_path: Path) -> None:
    folder = tmp_path / "home" / TRACES
    folder.mkdir(parents=True)
    (folder / "b_VSGitHubCopilot_traces.jsonl").write_text(chat(1, "I look.") + chat(2, "I look again."))
    (folder / "a_VSGitHubCopilot_traces.jsonl").write_text(chat(3, "It is winter time.") + "no span\n" + '{"torn')
    assert failures(swept(tmp_path / "archive", tmp_path / "home", "visualstudio")) == []
    found = content(tmp_path / "archive")
    texts = [event.get("text") for event in found.events[CONVERSATION]]
    line = '{"table":"span","key":"a_VSGitHubCopilot_traces.jsonl:1","row":{"text":"no span"}}'
    assert texts == [PROMPT, "I look.", "I look again.", "It is winter time.", line]
    assert [turn["prompt"] for turn in found.turns.values()] == [PROMPT]


def test_a_span_that_grew_is_told_once() -> None:
    spans = [
        json.loads(text)["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for text in (chat(1, "I"), chat(1, "I look."))
    ]
    rows = [{"table": "span", "key": "t:1", "row": span} for span in spans]
    found = read(agents.named("visualstudio"), lines(*rows), CONVERSATION)
    assert [event.text for event in found.of_type(EventType.MESSAGE)] == [PROMPT, "I look."]
    assert len({usage.usage_id for usage in found.usage}) == 1
