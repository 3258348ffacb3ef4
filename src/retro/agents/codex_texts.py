"""What the texts in Codex's records mean: whose words they are, what came out of a call, how an item reads."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import msgspec

from retro.agents.codex_shapes import decode_any, encode, mapping
from retro.agents.fields import Fields, as_text, blocks, text_in
from retro.event import Origin

HEAD: Final = 400
"""How much of an output can be the host's own head of it."""

_EDITOR: Final = "# Context from my IDE setup:"
_REQUEST: Final = "## My request for Codex:"
_SPACE: Final = re.compile(r"\s+")
_TAG: Final = re.compile(r"<([A-Za-z][A-Za-z_]*)(?: [^<>]*)?>")
_PLAN: Final = re.compile(r"<proposed_plan>\n?(.*?)\n?</proposed_plan>", re.DOTALL)
_IMAGE_TAG: Final = re.compile(r"\s*(?:<image(?: [^<>]*)?>|</image>)\s*")
_SHELL: Final = re.compile(
    r"<user_shell_command>\s*(?:<command>\n?(.*?)\n?</command>\s*(?:<result>\n?(.*?)\n?</result>)?|(.*?))\s*"
    r"</user_shell_command>",
    re.DOTALL,
)
_EXIT: Final = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,10})\s*$", re.MULTILINE)
_WALL: Final = re.compile(r"^Wall time:? (\d+(?:\.\d+)?) seconds", re.MULTILINE)
_RUNNING: Final = re.compile(r"^(?:Process running with session ID|Script running with cell ID) ", re.MULTILINE)
_FAILED: Final = (
    "execution error:",
    "exec_command failed",
    "failed to parse function arguments",
    "failed in sandbox",
    "unsupported call:",
    "unsupported custom tool call:",
    "apply_patch verification failed",
    "patch rejected",
    "Script failed",
    "aborted by user",
)
_REJECTED: Final = ("exec command rejected by user", "patch rejected by user", "rejected by user")

# What the host puts into messages, and whose words they are. None: the host's own instructions, that say nothing of
# the session. Today's versions name the kind of each part; before, a tag or the beginning of the text tells.
KINDS: Final[dict[str, Origin | None]] = {
    "model.base_instructions": None,
    "model.instructions": None,
    "host_skills.instructions": None,
    "permissions.instructions": None,
    "collaboration_mode.instructions": None,
    "tools.deferred_namespaces": None,
    "tools.removed_definition": None,
    "multi_agent.role_instructions": None,
    "multi_agent.mode_instructions": None,
    "multi_agent.usage_hint": None,
    "generic.turn_aborted": None,
    "agents_md.instructions": Origin.INJECTED,
    "hooks.additional_context": Origin.INJECTED,
    "environments.environment_context": Origin.MACHINE,
    "multi_agent.subagent_notification": Origin.MACHINE,
}
TAGS: Final[dict[str, Origin | None]] = {
    "permissions": None,
    "collaboration_mode": None,
    "skills_instructions": None,
    "apps_instructions": None,
    "plugins_instructions": None,
    "tools": None,
    "multi_agent_role": None,
    "multi_agent_mode": None,
    "model_instructions": None,
    "model_switch": None,
    "personality_spec": None,
    "turn_aborted": None,
    "environment_context": Origin.MACHINE,
    "subagent_notification": Origin.MACHINE,
    "user_action": Origin.MACHINE,
}
"""Any other tag around a whole text: somebody put it there."""


class Part(msgspec.Struct):
    """A part of a message's, reasoning's or output's content."""

    kind: str = msgspec.field(default="", name="type")
    text: str | None = None
    image_url: msgspec.Raw = msgspec.Raw(b"null")
    path: str | None = None
    name: str | None = None
    encrypted_content: str | None = None


_decode_parts = msgspec.json.Decoder(list[Part]).decode
_decode_text = msgspec.json.Decoder(str).decode


def parts_of(content: msgspec.Raw) -> list[Part]:
    """The parts of a content: a string is one part, an object is one part, anything else is kept as JSON."""
    first = bytes(memoryview(content)[:1])
    try:
        if first == b'"':
            return [Part("text", _decode_text(content))]
        if first == b"[" and all(map(_is_known, parts := _decode_parts(content))):
            return parts
    except msgspec.ValidationError:
        pass
    if first not in (b"[", b"{"):
        return []
    return [_part(fields) for fields in blocks(decode_any(content))]


def _is_known(part: Part) -> bool:
    """Whether a part is a text, a picture, or what nobody can read."""
    return part.text is not None or is_image(part) or _is_encrypted(part)


def _is_encrypted(part: Part) -> bool:
    return bool(part.encrypted_content) or part.kind.startswith("encrypted")


def _part(fields: Fields) -> Part:
    """A part, whatever it is: what is not known is its own text."""
    try:
        part = msgspec.convert(fields, Part)
    except msgspec.ValidationError:
        return Part("text", text_in(fields))
    return part if _is_known(part) or not fields else Part(part.kind, as_text(fields))


def flatten(content: msgspec.Raw) -> tuple[str, list[object]]:
    """The text of a content, and the images in it."""
    texts: list[str] = []
    images: list[object] = []
    for part in parts_of(content):
        if part.text is not None:
            texts.append(part.text)
        elif is_image(part):
            images.append(image(part))
        elif not _is_encrypted(part):
            texts.append(encode(part).decode())
    return "\n".join(text for text in texts if text), images


def is_image(part: Part) -> bool:
    """Whether a part is a picture."""
    return "image" in part.kind.lower() or bytes(part.image_url) != b"null"


def image(part: Part) -> dict[str, object]:
    """What a picture is, without its pixels."""
    if part.path:
        return {"media_type": "image", "path": part.path}
    url = bytes(part.image_url)
    head, _, data = url.strip(b'"').partition(b",")
    kind = head.removeprefix(b"data:").partition(b";")[0].decode("ascii", "replace")
    return {"media_type": kind if "/" in kind else "image", "bytes": len(data) * 3 // 4}


def bare(text: str) -> str:
    """A text without its white space: the two channels differ in it."""
    return _SPACE.sub("", text)


def typed(text: str) -> tuple[str, str]:
    """What an editor put before a prompt, and the prompt itself."""
    around, mark, words = text.partition(_REQUEST)
    return (around.strip(), words.strip()) if mark and text.startswith(_EDITOR) and words.strip() else ("", text)


def is_image_tag(text: str) -> bool:
    """Whether a text is only the tag that the host puts before or behind a picture."""
    return _IMAGE_TAG.fullmatch(text) is not None


def tag_of(text: str) -> str | None:
    """The tag that a whole text is wrapped in."""
    stripped = text.strip()
    found = _TAG.match(stripped)
    if found is None:
        return None
    name = found[1]
    return name if stripped.endswith(f"</{name}>") or f"</{name}" in stripped[-200:] else None


def whose(text: str, kind: str | None, role: str) -> tuple[Origin | None, str | None]:
    """Origin of a part of a message, and the host's or our name for its kind; None is the host's own instructions."""
    if kind and kind != "unknown":
        if kind.startswith("user."):
            return Origin.HUMAN, None
        return KINDS.get(kind, Origin.INJECTED), kind
    tag = tag_of(text)
    if tag is not None and not is_image_tag(text):
        return TAGS.get(tag, Origin.INJECTED), tag
    if text.startswith("# AGENTS.md instructions"):
        return Origin.INJECTED, "agents_md.instructions"
    if role == "user":
        return Origin.HUMAN, None
    return Origin.INJECTED, role


def shell_command(text: str) -> tuple[str, str] | None:
    """Command and output of what a person ran with `!`."""
    found = _SHELL.fullmatch(text.strip())
    if found is None:
        return None
    command = found[1] if found[1] is not None else found[3] or ""
    return command.strip(), (found[2] or "").strip()


def answers(text: str) -> list[tuple[str, bool]]:
    """An answer's parts, each with whether it is a plan: the other channel gives a proposed plan apart."""
    plans = [found.strip() for found in _PLAN.findall(text)]
    if not plans:
        return [(text, False)]
    rest = _PLAN.sub("", text).strip()
    return [*([(rest, False)] if rest else []), *((plan, True) for plan in plans)]


class Outcome(NamedTuple):
    """What came back of a call."""

    text: str
    exit_code: int | None = None
    duration_ms: int | None = None
    running: bool = False
    is_error: bool | None = None
    rejected: bool = False


class _Metadata(msgspec.Struct):
    exit_code: int | None = None
    duration_seconds: float | None = None


class _Wrapped(msgspec.Struct, forbid_unknown_fields=True):
    output: str
    metadata: _Metadata | None = None


_decode_wrapped = msgspec.json.Decoder(_Wrapped).decode


def outcome(text: str) -> Outcome:
    """An output, unwrapped, with the exit code in any of the shapes in which the versions tell it."""
    if text.startswith('{"output":'):  # 0.40, and apply_patch later on
        try:
            wrapped = _decode_wrapped(text)
        except msgspec.DecodeError:
            pass
        else:
            about = wrapped.metadata or _Metadata()
            seconds = about.duration_seconds
            return _judged(
                Outcome(wrapped.output, about.exit_code, int(seconds * 1000) if seconds is not None else None)
            )
    head, output, _ = text.partition("\nOutput:\n")
    if not output or len(head) > HEAD:
        head = text[:HEAD] if text.startswith(("Exit code:", "Chunk ID:", "Wall time", "Script ")) else ""
        head = head or text[-HEAD:].rpartition("\n")[2]  # the last line, where there is no head
    code, wall = _EXIT.search(head), _WALL.search(head)
    milliseconds = int(float(wall[1]) * 1000) if wall else None
    found = Outcome(text, int(code[1]) if code else None, milliseconds, _RUNNING.search(head) is not None)
    return _judged(found)


def _judged(found: Outcome) -> Outcome:
    rejected = any(mark in found.text[:HEAD] for mark in _REJECTED)
    if found.exit_code is not None:
        return found._replace(is_error=found.exit_code != 0, rejected=rejected)
    failed = rejected or found.text.lstrip().startswith(_FAILED)
    return found._replace(is_error=True if failed else None, rejected=rejected)


def tool_result(result: msgspec.Raw, error: msgspec.Raw) -> tuple[str, list[object], bool | None]:
    """Text, images and error of an MCP result, as item (`content`, `isError`) or as event (`Ok`, `Err`)."""
    value = decode_any(result)
    fields = mapping(value)
    if "Ok" in fields:
        value = fields["Ok"]
        fields = mapping(value)
    if "Err" in fields:
        return str(fields["Err"]), [], True
    problem = decode_any(error)
    if problem:
        return str(mapping(problem).get("message") or encode(problem).decode()), [], True
    content = fields.get("content")
    if isinstance(content, list):
        text, images = flatten(msgspec.Raw(encode(content)))
        if not text and fields.get("structuredContent"):
            text = encode(fields["structuredContent"]).decode()
        return text, images, bool(fields.get("isError") or fields.get("is_error"))
    text = value if isinstance(value, str) else encode(value).decode() if value is not None else ""
    return text, [], None


def duration_of(raw: msgspec.Raw) -> int | None:
    """A duration in milliseconds."""
    fields = mapping(decode_any(raw))
    seconds, nanos = fields.get("secs"), fields.get("nanos")
    if isinstance(seconds, int) and isinstance(nanos, int):
        return seconds * 1000 + nanos // 1_000_000
    return None


def review_text(raw: msgspec.Raw) -> str:
    """What a review found."""
    review = mapping(decode_any(raw))
    said = [str(review.get("overall_explanation") or "")]
    findings = review.get("findings")
    for finding in findings if isinstance(findings, list) else ():
        fields = mapping(finding)
        place = mapping(fields.get("code_location")).get("absolute_file_path") or ""
        said.append(f"{fields.get('title') or ''} {place}\n{fields.get('body') or ''}".strip())
    return "\n\n".join(text for text in said if text)


def snippets(raw: msgspec.Raw) -> str:
    """The results of a web search as text."""
    results = decode_any(raw)
    said = []
    for result in results if isinstance(results, list) else ():
        fields = mapping(result)
        said.append("\n".join(str(fields[key]) for key in ("title", "url", "snippet", "text") if fields.get(key)))
    return "\n\n".join(text for text in said if text)
