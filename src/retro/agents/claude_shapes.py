"""The fields of Claude Code's records that mean something to us, and how to decode them."""

from __future__ import annotations

from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

import msgspec

from retro.agents.fields import whole_in

NOTHING: Final = msgspec.Raw(b"null")
"""What stands in a field of which the record has none."""


class Block(msgspec.Struct, gc=False):
    """A part of a message's content."""

    kind: str = msgspec.field(default="", name="type")
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw(b"{}")
    tool_use_id: str | None = None
    content: msgspec.Raw = NOTHING
    is_error: bool | None = None
    source: msgspec.Raw = NOTHING


class CacheCreation(msgspec.Struct, gc=False):
    """Tokens written to the cache, by how long they keep."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class ServerTools(msgspec.Struct, gc=False):
    """Tools that the provider ran."""

    web_search_requests: int | None = None


class OutputDetails(msgspec.Struct, gc=False):
    """What the output tokens were spent on."""

    thinking_tokens: int | None = None


class UsageFields(msgspec.Struct, gc=False):
    """The tokens of a request, as the host writes them on every line of its message."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None
    server_tool_use: ServerTools | None = None
    output_tokens_details: OutputDetails | None = None
    service_tier: str | None = None
    speed: str | None = None
    geo: str | None = msgspec.field(default=None, name="inference_geo")

    @property
    def written(self) -> tuple[int, int]:
        """Tokens written to the cache for five minutes, and for an hour."""
        cache = self.cache_creation or CacheCreation()
        short, hour = max(cache.ephemeral_5m_input_tokens or 0, 0), max(cache.ephemeral_1h_input_tokens or 0, 0)
        # What no part tells is kept for as long as is usual; what the parts tell is there, whatever the sum says.
        return max((self.cache_creation_input_tokens or 0) - hour, short), hour

    @property
    def tier(self) -> str | None:
        """The tier, and the region that the request was bound to (`standard@us`), which costs more."""
        if self.geo in (None, "", "global", "not_available"):
            return self.service_tier
        return f"{self.service_tier or 'standard'}@{self.geo}"


class Message(msgspec.Struct, gc=False):
    """A message as the provider's API has it."""

    id: str | None = None
    model: str | None = None
    content: str | list[Block] | None = None
    usage: UsageFields | None = None
    stop_reason: str | None = None


class PromptOrigin(msgspec.Struct, gc=False):
    """Where a prompt came from, in versions that say so."""

    kind: str | None = None


class Inner(msgspec.Struct, gc=False):
    """The part of a record that a message embedded in a progress record has too."""

    kind: str = msgspec.field(default="", name="type")
    uuid: str | None = None
    timestamp: str | None = None
    message: Message | None = None
    is_meta: bool = msgspec.field(default=False, name="isMeta")
    request_id: str | None = msgspec.field(default=None, name="requestId")
    result: msgspec.Raw = msgspec.field(default=NOTHING, name="toolUseResult")
    is_api_error: bool = msgspec.field(default=False, name="isApiErrorMessage")
    is_compact_summary: bool = msgspec.field(default=False, name="isCompactSummary")
    prompt_source: str | None = msgspec.field(default=None, name="promptSource")
    origin: PromptOrigin | None = None
    source_tool: str | None = msgspec.field(default=None, name="sourceToolUseID")
    plan: str | None = msgspec.field(default=None, name="planContent")
    cost: float | None = msgspec.field(default=None, name="costUSD")
    status: int | None = msgspec.field(default=None, name="apiErrorStatus")


class Record(Inner, gc=False):
    """One line of a transcript."""

    parent: str | None = msgspec.field(default=None, name="parentUuid")
    agent_id: str | None = msgspec.field(default=None, name="agentId")
    subtype: str | None = None
    cwd: str | None = None
    branch: str | None = msgspec.field(default=None, name="gitBranch")
    version: str | None = None
    is_sidechain: bool = msgspec.field(default=False, name="isSidechain")
    session: str | None = msgspec.field(default=None, name="sessionId")
    forked_from: msgspec.Raw = msgspec.field(default=NOTHING, name="forkedFrom")
    content: msgspec.Raw = NOTHING
    attachment: msgspec.Raw = NOTHING
    data: msgspec.Raw = NOTHING
    parent_tool: str | None = msgspec.field(default=None, name="parentToolUseID")


class ProgressFields(msgspec.Struct, gc=False):
    """What a progress record carries."""

    kind: str = msgspec.field(default="", name="type")
    agent_id: str | None = msgspec.field(default=None, name="agentId")
    message: Inner | None = None
    normalized: list[Inner] | None = msgspec.field(default=None, name="normalizedMessages")
    query: str | None = None


class Result(msgspec.Struct, gc=False):
    """The few facts of a tool's structured result that the message beside it lacks; the bulk is skipped."""

    interrupted: bool | None = None
    stdout: msgspec.Raw = NOTHING  # never `Raw | None`, which msgspec reads as None alone
    exit_code: int | None = msgspec.field(default=None, name="exitCode")
    interpretation: str | None = msgspec.field(default=None, name="returnCodeInterpretation")
    background: str | None = msgspec.field(default=None, name="backgroundTaskId")
    is_async: bool | None = msgspec.field(default=None, name="isAsync")
    agent_id: str | None = msgspec.field(default=None, name="agentId")
    duration: float | None = msgspec.field(default=None, name="totalDurationMs")
    user_modified: bool | None = msgspec.field(default=None, name="userModified")
    patch: msgspec.Raw = msgspec.field(default=NOTHING, name="structuredPatch")

    @property
    def ran(self) -> bool:
        """Whether it is that of a command."""
        return bytes(memoryview(self.stdout)[:1]) == b'"'


class Edit(msgspec.Struct, gc=False):
    """One replacement."""

    old_string: str = ""
    new_string: str = ""


class Input(msgspec.Struct, gc=False):
    """Arguments of the tools that have an event type of their own."""

    command: str | None = None
    description: str | None = None
    run_in_background: bool | None = None
    file_path: str | None = None
    notebook_path: str | None = None
    path: str | None = None
    content: str | None = None
    old_string: str | None = None
    new_string: str | None = None
    new_source: str | None = None
    edits: list[Edit] | None = None
    query: str | None = None
    url: str | None = None
    prompt: str | None = None
    pattern: str | None = None
    subagent_type: str | None = None


decode_record = msgspec.json.Decoder(Record).decode
decode_any = msgspec.json.Decoder().decode
decode_result = msgspec.json.Decoder(Result).decode
decode_input = msgspec.json.Decoder(Input).decode
decode_progress = msgspec.json.Decoder(ProgressFields).decode
decode_content = msgspec.json.Decoder(str | list[Block] | None).decode
encode = msgspec.json.Encoder().encode


def mapping(value: object) -> dict[str, object]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def lenient(record: bytes) -> Record:
    """A record some of whose fields have types that no version was seen to write: those alone are left out."""
    found = _fitting(decode_any(record), Record)
    return found if isinstance(found, Record) else Record()


def _fitting(value: Any, kind: Any) -> Any:
    """A value as a type wants it, without the parts of it that do not fit; UNSET where nothing does."""
    if kind is msgspec.Raw:
        return msgspec.Raw(encode(value))
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if isinstance(value, dict):
        wanted = next((one for one in kinds if isinstance(one, type) and issubclass(one, msgspec.Struct)), None)
        if wanted is None and any(get_origin(one) is list for one in kinds):
            return _fitting([value], kind)
        return _fitting_fields(value, wanted) if wanted is not None else msgspec.UNSET
    if int in kinds:
        value = whole_in(value)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        # Of a list that may be a text as well, no word is lost.
        return encode(value).decode() if isinstance(value, list) and str in kinds else msgspec.UNSET


def _fitting_fields(value: dict[str, Any], kind: type[msgspec.Struct]) -> msgspec.Struct:
    made = kind()
    for field in msgspec.structs.fields(kind):
        found = _fitting(value[field.encode_name], field.type) if field.encode_name in value else msgspec.UNSET
        if found is not msgspec.UNSET:
            setattr(made, field.name, found)
    return made
