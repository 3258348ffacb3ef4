"""What clients ask a model and how it answers: Anthropic Messages and OpenAI Responses, always streamed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from live.script import Reply

Json = dict[str, Any]


class Tokens(msgspec.Struct, frozen=True, order=True):
    """What one request is said to have taken, each kind apart. No two requests are told the same."""

    fresh: int
    written_5m: int
    written_1h: int
    cached: int
    output: int
    reasoning: int = 0


class Ask(NamedTuple):
    """What a request says, whichever protocol it came in."""

    model: str
    prompt: str
    heard: list[str]
    tools: str = ""
    """Names of the tools that are offered."""


# Messages in the user's role that a client writes by itself.
OWN_WORDS = ("<environment_context>", "<system-reminder>", "# AGENTS.md", "<turn_aborted>", "<user_instructions>")

TEXTS = ("text", "content", "output", "encrypted_content")
"""Where the words of an item stand; those from agent to agent are said to be encrypted, and here are not."""


def texts(content: object) -> list[str]:
    """Every text in a message's content, in order."""
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        return [text for block in content for text in texts(block)]
    if isinstance(content, Mapping):
        return [
            text for name in ("text", "content", "output", "encrypted_content") for text in texts(content.get(name))
        ]
    return []


def asked_claude(body: Json) -> Ask:
    """A request of Claude Code: the text beside a tool's result is not typed, nor is a reminder."""
    prompt, heard = "", []
    for message in body.get("messages", ()):
        content = message.get("content")
        said = texts(content)
        heard += said
        results = isinstance(content, list) and any(block.get("type") == "tool_result" for block in content)
        typed = [text for text in said if not text.startswith(OWN_WORDS)]
        if message.get("role") == "user" and typed and not results:
            prompt = "\n".join(typed)
    return Ask(body.get("model", ""), prompt, heard)


def asked_responses(body: Json) -> Ask:
    """A request of Codex, Copilot or Grok."""
    prompt, heard = "", []
    for item in body.get("input", ()):
        said = texts(item)
        heard += said
        typed = "\n".join(text for text in said if not text.startswith(OWN_WORDS))
        message = item.get("type", "message") == "message" and item.get("role") == "user"
        task = item.get("type") == "agent_message" and item.get("recipient") != "/root"
        if (message or task) and typed:
            prompt = typed
    tools = " ".join(str(tool.get("name")) for tool in body.get("tools") or ())
    return Ask(body.get("model", ""), prompt, heard, tools)


# --- the answers as streams ------------------------------------------------------------------------------------------


def claude_stream(identity: str, reply: Reply, tokens: Tokens, model: str) -> Iterator[Json]:
    """The events of an Anthropic message."""

    def usage(output: int) -> Json:
        return {
            "input_tokens": tokens.fresh,
            "cache_creation_input_tokens": tokens.written_5m + tokens.written_1h,
            "cache_creation": {
                "ephemeral_5m_input_tokens": tokens.written_5m,
                "ephemeral_1h_input_tokens": tokens.written_1h,
            },
            "cache_read_input_tokens": tokens.cached,
            "output_tokens": output,
            "output_tokens_details": {"thinking_tokens": tokens.reasoning},
            "service_tier": "standard",
        }

    message = {"id": identity, "type": "message", "role": "assistant", "model": model, "content": []}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage(1)}}
    for index, (block, deltas) in enumerate(claude_blocks(identity, reply)):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": "tool_use" if reply.calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": usage(tokens.output)}
    yield {"type": "message_stop"}


def claude_blocks(identity: str, reply: Reply) -> Iterator[tuple[Json, list[Json]]]:
    """Each block as it begins, and the pieces in which it comes."""
    if reply.thinking:
        signature = {"type": "signature_delta", "signature": "c2lnbmVk"}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(reply.thinking)]
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature]
    if reply.text:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(reply.text)]
    for number, call in enumerate(reply.calls):
        given = pieces(json.dumps(call.given))
        block = {"type": "tool_use", "id": f"toolu_{identity}_{number}", "name": call.name, "input": {}}
        yield block, [{"type": "input_json_delta", "partial_json": piece} for piece in given]


def response_stream(identity: str, reply: Reply, tokens: Tokens, model: str) -> Iterator[Json]:
    """The events of an OpenAI response, numbered."""
    for number, event in enumerate(_response_events(identity, reply, tokens, model)):
        yield {**event, "sequence_number": number}


def _response_events(identity: str, reply: Reply, tokens: Tokens, model: str) -> Iterator[Json]:
    items = list(response_items(identity, reply))
    whole: Json = {"id": identity, "object": "response", "model": model, "error": None, "parallel_tool_calls": True}
    whole["created_at"] = int(time.time())
    prompt = tokens.fresh + tokens.cached
    usage = {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": prompt + tokens.output,
    }
    yield {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}
    for index, item in enumerate(items):
        where = {"item_id": item["id"], "output_index": index}
        begun, parts = _item_parts(item)
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, **begun}}
        yield from ({**part, **where} for part in parts)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    done = {**whole, "status": "completed", "output": items, "usage": usage}
    yield {"type": "response.completed", "response": done}


def _item_parts(item: Json) -> tuple[Json, list[Json]]:
    """An item as it begins, as far as that differs, and the pieces in which it comes."""
    if item["type"] == "message":
        text, kind, place = item["content"][0]["text"], "output_text", {"content_index": 0}
        part = {"type": kind, "text": "", "annotations": []}
        began = {"type": "response.content_part.added", **place, "part": part}
        ended = {"type": "response.content_part.done", **place, "part": item["content"][0]}
        return {"content": [], "status": "in_progress"}, [began, *_pieces(kind, text, place), ended]
    if item["type"] == "reasoning":
        text, kind, place = item["summary"][0]["text"], "reasoning_summary_text", {"summary_index": 0}
        part = {"type": "summary_text", "text": ""}
        began = {"type": "response.reasoning_summary_part.added", **place, "part": part}
        ended = {"type": "response.reasoning_summary_part.done", **place, "part": item["summary"][0]}
        return {"summary": []}, [began, *_pieces(kind, text, place), ended]
    name, kind = {
        "function_call": ("arguments", "function_call_arguments"),
        "custom_tool_call": ("input", "custom_tool_call_input"),
    }[item["type"]]
    return {name: "", "status": "in_progress"}, list(_pieces(kind, item[name], {}, name))


def _pieces(kind: str, text: str, place: Json, name: str = "text") -> Iterator[Json]:
    for piece in pieces(text):
        yield {"type": f"response.{kind}.delta", **place, "delta": piece}
    yield {"type": f"response.{kind}.done", **place, name: text}


def response_items(identity: str, reply: Reply) -> Iterator[Json]:
    """What a reply consists of."""
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        yield {"type": "reasoning", "id": f"rs_{identity}", "summary": summary, "encrypted_content": "c2VhbGVk"}
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        said = {"role": "assistant", "status": "completed", "content": content}
        yield {"type": "message", "id": f"msg_{identity}", **said}
    for number, call in enumerate(reply.calls):
        ids = {"id": f"fc_{identity}_{number}", "call_id": f"call_{identity}_{number}"}
        item: Json = {**ids, "name": call.name, "status": "completed"}
        if call.namespace:
            item["namespace"] = call.namespace
        if isinstance(call.given, str):
            yield {"type": "custom_tool_call", **item, "input": call.given}
        else:
            yield {"type": "function_call", **item, "arguments": json.dumps(call.given)}


def pieces(text: str, size: int = 40) -> list[str]:
    """A text in the pieces in which it is streamed."""
    return [text[start : start + size] for start in range(0, len(text), size)]
