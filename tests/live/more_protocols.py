"""The same for Gemini's API and OpenAI Chat Completions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from live.protocols import OWN_WORDS, Ask, Json, Tokens, pieces, texts
from live.script import Reply


def asked_gemini(body: Json) -> Ask:
    """A request of Gemini CLI; its model stands in the path."""
    prompt, heard = "", []
    for content in body.get("contents", ()):
        said = texts(content.get("parts"))
        heard += said
        typed = [text for text in said if not text.startswith(("<session_context>", "<hook_context>"))]
        if content.get("role") == "user" and typed:
            prompt = "\n".join(typed)
    declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
    return Ask(body.get("model", ""), prompt, heard, " ".join(str(tool.get("name")) for tool in declared))


def gemini_stream(identity: str, reply: Reply, tokens: Tokens, model: str) -> Iterator[Json]:
    """What is said piece by piece, then the calls with what it all took."""

    def chunk(parts: list[Json], **more: object) -> Json:
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **more}
        return {"candidates": [candidate], "modelVersion": model, "responseId": identity}

    if reply.thinking:
        yield chunk([{"text": reply.thinking, "thought": True}])
    for piece in pieces(reply.text):
        yield chunk([{"text": piece}])
    calls: list[Json] = [{"functionCall": {"name": call.name, "args": call.given}} for call in reply.calls]
    prompt = tokens.fresh + tokens.cached
    used = {
        "promptTokenCount": prompt,
        "cachedContentTokenCount": tokens.cached,
        "candidatesTokenCount": tokens.output - tokens.reasoning,
        "thoughtsTokenCount": tokens.reasoning,
        "totalTokenCount": prompt + tokens.output,
    }
    yield {**chunk(calls or [{"text": ""}], finishReason="STOP"), "usageMetadata": used}


def gemini_whole(chunks: Iterator[Json]) -> Json:
    """The same as one answer."""
    parts: list[Json] = []
    last: Json = {}
    for last in chunks:
        parts += last["candidates"][0]["content"]["parts"]
    last["candidates"][0]["content"]["parts"] = [part for part in parts if part.get("text") != ""]
    return last


def asked_chat(body: Json) -> Ask:
    """A request of OpenCode."""
    prompt, heard = "", []
    for message in body.get("messages", ()):
        said = texts(message.get("content"))
        heard += said
        typed = [text for text in said if not text.startswith(OWN_WORDS)]
        if message.get("role") == "user" and typed:
            prompt = "\n".join(typed)
    tools = " ".join(str(tool.get("function", {}).get("name")) for tool in body.get("tools") or ())
    return Ask(body.get("model", ""), prompt, heard, tools)


def chat_stream(identity: str, reply: Reply, tokens: Tokens, model: str) -> Iterator[Json]:
    """The chunks of a completion."""

    def chunk(delta: Json, reason: str | None = None) -> Json:
        about = {"id": identity, "object": "chat.completion.chunk", "created": int(time.time()), "model": model}
        return {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(reply.thinking):
        yield chunk({"reasoning_content": piece})
    for piece in pieces(reply.text):
        yield chunk({"content": piece})
    for number, call in enumerate(reply.calls):
        begun = {"index": number, "id": f"call_{identity}_{number}", "type": "function"}
        yield chunk({"tool_calls": [{**begun, "function": {"name": call.name, "arguments": json.dumps(call.given)}}]})
    yield chunk({}, "tool_calls" if reply.calls else "stop")
    prompt = tokens.fresh + tokens.cached
    used = {
        "prompt_tokens": prompt,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens": tokens.output,
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": prompt + tokens.output,
    }
    yield {**chunk({}), "choices": [], "usage": used}
