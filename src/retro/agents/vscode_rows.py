"""A VS Code chat as rows: the mutation log replayed, and the state taken apart so that a change touches few rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from retro.agents.fields import Fields, as_text, decode_damaged, items, mapping, string
from retro.agents.toolnames import tool_kind
from retro.event import EventType

INITIAL: Final = 0
SET: Final = 1
PUSH: Final = 2
DELETE: Final = 3

UNNAMED: Final = "request-"
"""Begins what we call a request to which the host gave no id, by its place."""

KNOWN: Final = 24
"""Letters at either end of a text by which it is known again."""

_BETWEEN: Final = re.compile(r"\W+")

RESPONSE: Final = frozenset(
    {
        *("response", "result", "followups", "modelState", "vote", "voteDownReason", "editedFileEvents", "usedContext"),
        *("contentReferences", "codeCitations", "timeSpentWaiting", "usage", "completionTokens", "promptTokens"),
        *("elapsedMs", "isCanceled", "responseMarkdownInfo", "responseErrorDetails"),
    }
)
"""Fields of a request that its answer fills in."""

PROSE: Final = frozenset({"", "text", "markdownContent", "markdownVuln", "inlineReference", "treeData"})
AROUND: Final = frozenset({"codeblockUri", "undoStop"})
"""Parts of a response that are prose, and those that may stand within it without ending it."""

INVOCATION: Final = "toolInvocationSerialized"
EDITS: Final = frozenset({"textEditGroup", "notebookEditGroup"})


# --- the mutation log ------------------------------------------------------------------------------------------------


UNAPPLIED: Final = "retro:unapplied"
"""Member of a state: changes in its log that could not be made."""


def replay(entries: Iterable[object]) -> Fields:
    """The state that a log of mutations adds up to; what is none, or changes what is not there, is kept beside it.

    Raises ValueError where there is no state to change.
    """
    state: object = None
    left = list[object]()
    for number, entry in enumerate(entries, 1):
        fields = mapping(entry)
        if fields.get("kind") == INITIAL:
            state = fields.get("v")
        elif not isinstance(state, dict):
            raise ValueError(f"line {number}: a change before there is a state")
        elif not _applied(state, fields):
            left.append(entry)
    if not isinstance(state, dict):
        raise ValueError("no state")
    return state | {UNAPPLIED: left} if left else state


def _applied(state: object, entry: Fields) -> bool:
    """Make a change; whether it is one, of something that is there."""
    if "kind" not in entry:
        return False
    try:
        _apply(state, entry["kind"], items(entry.get("k")), entry)
    except (TypeError, ValueError, LookupError):
        return False
    return True


def _apply(state: object, kind: object, path: list[object], entry: Fields) -> None:
    """One change. Path parts are strings and numbers; an old host wrote numbers as strings."""
    if not path:
        return
    place = state
    for part in path[:-1]:
        place = _inside(place, part)
    last = path[-1]
    if kind == SET or (kind == PUSH and not isinstance(entry.get("v"), (list, type(None)))):
        _put(place, last, entry.get("v"))
    elif kind == DELETE:
        _put(place, last, None)
    elif kind == PUSH:
        known = _inside(place, last, missing=True)
        kept = known if isinstance(known, list) else []
        start = entry.get("i")
        if isinstance(start, int):
            del kept[start:]
        kept.extend(items(entry.get("v")))
        _put(place, last, kept)
    else:
        raise ValueError(f"a change of kind {kind!r}")


def _inside(place: object, part: object, *, missing: bool = False) -> object:
    if isinstance(place, list):
        return place[_number(part)]
    if isinstance(place, dict):
        return place.get(str(part)) if missing else place[str(part)]
    raise TypeError(f"nothing below {part!r}")


def _put(place: object, part: object, value: object) -> None:
    if isinstance(place, list):
        at = _number(part)
        if at == len(place):
            place.append(value)
        else:
            place[at] = value
    elif isinstance(place, dict):
        if value is None:
            place.pop(str(part), None)
        else:
            place[str(part)] = value
    else:
        raise TypeError(f"nothing below {part!r}")


def _number(part: object) -> int:
    if isinstance(part, int) or (isinstance(part, str) and part.isdigit()):
        return int(part)
    raise TypeError(f"{part!r} is no place in a list")


def state_of(data: bytes) -> Fields:
    """The state that a file holds: one object, or a log of changes to one.

    A last line without its end does not count yet. Raises ValueError where it is neither.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    head = data[:200].lstrip()
    if head.startswith(b'{"kind"') or b'{"kind":0' in head.replace(b" ", b""):
        lines = data.split(b"\n")
        unfinished = lines.pop()
        entries = [_entry(line) for line in lines if line.strip()]
        try:
            entries += [decode_damaged(unfinished)] if unfinished.strip() else []
        except msgspec.DecodeError:
            pass
        return replay(entries)
    state = decode_damaged(data)
    if not isinstance(state, dict):
        raise ValueError("not an object")
    return state


def _entry(line: bytes) -> object:
    """A line of a log, or what is left of one."""
    try:
        return decode_damaged(line)
    except (ValueError, RecursionError):
        return {"line": line.decode("utf-8", "replace")}


# --- rows ------------------------------------------------------------------------------------------------------------


def rows(state: Fields) -> Iterator[Fields]:
    """The rows of a chat, in the order in which they happened; every value of the state is in one of them."""
    apart = {"requests", "inputState", "pendingRequests", UNAPPLIED}
    yield {"row": "session", "session": {name: value for name, value in state.items() if name not in apart}}
    for at, request in enumerate(items(state.get("requests"))):
        yield from _request(at, mapping(request))
    for place, pending in enumerate(items(state.get("pendingRequests"))):
        yield {"row": "pending", "at": place, "pending": pending}
    for place, entry in enumerate(items(state.get(UNAPPLIED))):
        yield {"row": "unapplied", "at": place, "entry": entry}
    if state.get("inputState") is not None:
        yield {"row": "input", "input": state["inputState"]}


def _request(at: int, request: Fields) -> Iterator[Fields]:
    name: Fields = {"at": at, "id": string(request.get("requestId")) or f"{UNNAMED}{at}"}
    asked = {field: value for field, value in request.items() if field not in RESPONSE}
    answered = {field: value for field, value in request.items() if field in RESPONSE}
    parts = [mapping(part) if isinstance(part, dict) else {"value": part} for part in items(answered.get("response"))]
    answered.pop("response", None)
    yield {"row": "request", **name, "request": asked}
    if string(request.get("modelId")):
        name["model"] = request["modelId"]
    result = dict(mapping(answered.get("result")))
    about = dict(mapping(result.get("metadata")))
    rounds = [dict(mapping(found)) for found in items(about.pop("toolCallRounds", None))]
    outputs = dict(mapping(about.pop("toolCallResults", None)))
    calls = _joined(parts, rounds)
    edits = any(part.get("kind") == INVOCATION and _edits(part, calls.get(at)) for at, part in enumerate(parts))
    for row in _parts(parts, calls, outputs):
        if string(mapping(row.get("part")).get("kind")) in EDITS and edits:
            row["called"] = True  # the call that asked for it is a part of its own
        yield {**row, **name}
    said = _letters("".join(_prose(part) for part in parts))
    for number, found in enumerate(rounds):
        yield {"row": "round", **name, "n": number, "round": found, "said": _said(found, said)}
    if outputs:
        yield {"row": "outputs", **name, "outputs": outputs}
    if result:
        answered["result"] = {**result, "metadata": about} if "metadata" in result else result
    yield {"row": "result", **name, "rounds": len(rounds), "asked": request.get("timestamp"), **answered}


def _edits(part: Fields, call: Fields | None) -> bool:
    name = string(mapping(call).get("name")) or string(part.get("toolId")) or ""
    return tool_kind(name) is EventType.FILE_EDIT


def key_of(row: Fields) -> str:
    """What tells a row from the others of its kind."""
    owner = string(row.get("id")) or (str(row["at"]) if "at" in row else "")
    return f"{owner}:{row['n']}" if "n" in row else owner


def _parts(parts: list[Fields], calls: dict[int, Fields], outputs: Fields) -> Iterator[Fields]:
    """Each part a row, named so that others may come before it; prose that the host cut around references is one."""
    prose: list[Fields] = []
    names = _Names()
    for number, part in enumerate(parts):
        kind = string(part.get("kind")) or ""
        if kind in PROSE or (prose and kind in AROUND):
            prose.append(part)
            continue
        if prose:
            yield {"row": "text", "n": names.next(""), "parts": prose}
            prose = []
        row: Fields = {"row": "part", "n": names.next(kind, string(part.get("toolCallId")) or string(part.get("id")))}
        row["part"] = part
        call = calls.get(number)
        if call is not None:
            row["call"] = call
        known = string(mapping(call).get("id")) or string(part.get("toolCallId")) or ""
        if known in outputs:
            row["output"] = outputs.pop(known)
        yield row
    if prose:
        yield {"row": "text", "n": names.next(""), "parts": prose}


class _Names:
    """Names for the parts of a response: their own ids, or their kind and how many of it came before."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._given: set[str] = set()

    def next(self, kind: str, own: str | None = None) -> str:
        """The next part's name."""
        if own and own not in self._given:
            self._given.add(own)
            return own
        count = self._counts[kind] = self._counts.get(kind, -1) + 1
        return f"{kind}{count}"


def _joined(parts: list[Fields], rounds: list[Fields]) -> dict[int, Fields]:
    """The model's call behind each invocation, by the invocation's place; taken out of the rounds.

    Hosts give both the same id, or ids of their own in the same order: then only equal numbers of both are joined.
    """
    places = [number for number, part in enumerate(parts) if part.get("kind") == INVOCATION]
    calls = [mapping(call) for found in rounds for call in items(found.get("toolCalls"))]
    by_id = {str(call.get("id")): call for call in calls}
    joined = {}
    for place in places:
        name = string(parts[place].get("toolCallId")) or ""
        call = by_id.get(name) or by_id.get(name.partition("__vscode")[0])
        if call is not None:
            joined[place] = call
    if not joined and len(places) == len(calls):
        joined = dict(zip(places, calls, strict=True))
    taken = {id(call) for call in joined.values()}
    for found in rounds:
        if items(found.get("toolCalls")):
            found["toolCalls"] = [call for call in items(found["toolCalls"]) if id(call) not in taken]
    return joined


def _said(found: Fields, said: str) -> bool:
    """Whether the prose of a round stands in the parts as well; references are written in another way there."""
    text = _letters(string(found.get("response")) or "")
    return text in said or text[:KNOWN] in said or text[-KNOWN:] in said


def _letters(text: str) -> str:
    return _BETWEEN.sub("", text)


def _prose(part: Fields) -> str:
    kind = string(part.get("kind")) or ""
    return markdown(part) if kind in PROSE else ""


def markdown(part: Fields) -> str:
    """The text of a part of prose."""
    kind = part.get("kind")
    if kind == "inlineReference":
        return f"`{reference(part)}`"
    if kind == "treeData":
        return as_text(part.get("treeData"))
    return flat(part.get("value") if "value" in part else part.get("content"))


def flat(value: object) -> str:
    """A markdown text, which is a string or an object around one."""
    if isinstance(value, list):
        return "".join(flat(part) for part in value)
    if isinstance(value, dict):
        return flat(value.get("value")) if "value" in value else as_text(value)
    return as_text(value)


def reference(part: Fields) -> str:
    """What an inline reference points at: its name, or the last part of its path."""
    target = mapping(part.get("inlineReference"))
    place = path_of(target.get("uri") or target.get("location") or target)
    return string(part.get("name")) or string(target.get("name")) or place.rpartition("/")[2] or "reference"


def path_of(uri: object) -> str:
    """The path of a URI, written as text or as an object; of one that names no file, the whole."""
    fields = mapping(uri)
    if "uri" in fields:
        return path_of(fields["uri"])
    found = string(fields.get("fsPath")) or string(fields.get("path")) or string(fields.get("external"))
    return uri_path(found or string(uri) or "")


def uri_path(uri: str) -> str:
    """The path in a `file:` or `vscode-remote:` address, as its machine writes it; any other text as it is."""
    if not uri.startswith(("file://", "vscode-remote://", "vscode-userdata:", "vscode-local:")):
        return uri
    from urllib.parse import unquote, urlsplit  # it takes longer to load than all of this module

    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    path = unquote(parts.path)
    if len(path) > 2 and path[0] == "/" and path[2] == ":":
        path = path[1:]
    elif parts.scheme == "file" and parts.netloc:
        path = f"//{parts.netloc}{path}"
    return path
