"""`import_meta.json` and its like: what a session's raw folder holds, so that the archive explains itself."""

from __future__ import annotations

import base64
import json
import os
from hashlib import sha256
from typing import Any, Final, TypeVar

import msgspec

from retro import __version__
from retro.archive.committed import SessionState, SourceState
from retro.notes import Notes
from retro.places import write_private

SCHEMA = 1
_END: Final = b"\n}"
_SEAL: Final = b',\n "sha256": "'

Known = TypeVar("Known", SourceState, Notes)


def write_meta(path: str, state: SessionState, normaliser: int, rules: int) -> None:
    """Write what is committed of a session, all at once; not yet synced."""
    content = {
        "schema": SCHEMA,
        "retro": __version__,
        "host": state.host,
        "session_id": state.session_id,
        "normaliser": normaliser,
        "rules": rules,
        "normalized": {
            "bytes": state.normalized_bytes,
            "chain": state.normalized_chain.hex(),
            **({"evicted": True} if state.events_evicted else {}),
        },
        "sources": [
            {**_source(source), **({"state": _packed(source)} if state.evicted else {})} for source in state.sources
        ],
        **({"notes": _packed(state.notes)} if state.evicted and state.notes is not None else {}),
    }
    try:
        data = msgspec.json.format(msgspec.json.encode(content), indent=1)
    except UnicodeEncodeError:  # a path that is not UTF-8: the standard library escapes what msgspec refuses
        data = json.dumps(content, indent=1).encode("ascii")
    write_private(path, _sealed(data), sync=False)


def _sealed(data: bytes) -> bytes:
    """An object as JSON with the hash of what it was before as its last member."""
    return data[: -len(_END)] + b',\n "sha256": "%s"' % sha256(data).hexdigest().encode() + _END + b"\n"


def is_as_written(path: str) -> bool:
    """Whether a meta file holds what was written: those of earlier versions do not tell, and pass."""
    with open(path, "rb") as file:
        data = file.read()
    return _SEAL not in data or data == _sealed(data[: data.rindex(_SEAL)] + _END)


def _source(source: SourceState) -> dict[str, object]:
    return {
        "key": source.key,
        "revision": source.revision,
        "kind": source.kind,
        "path": os.fsdecode(source.path),
        "file": source.file,
        "form": source.form,
        "archive_name": source.archive_name,
        "device": source.device,
        "inode": source.inode,
        "size": source.size,
        "mtime_ns": source.mtime_ns,
        "captured_bytes": source.offset,
        "captured": source.captured,
        "raw_bytes": source.raw_bytes,
        "chain": source.chain.hex(),
        "accounting": msgspec.to_builtins(source.accounting),
        "facts": {name: fact for name, fact in msgspec.to_builtins(source.facts).items() if fact},
        **({"evicted_bytes": source.base} if source.base else {}),
    }


def _packed(known: SourceState | Notes) -> str:
    """What can no longer be derived from the archived copies, because they were given up."""
    return base64.b64encode(msgspec.msgpack.encode(known)).decode("ascii")


def read_meta(path: str) -> SessionState:
    """What a session's raw folder holds, as far as its meta file tells. Raises ValueError where it cannot be used."""
    with open(path, "rb") as file:
        try:
            content: Any = json.loads(file.read())
            return SessionState(
                host=str(content["host"]),
                session_id=str(content["session_id"]),
                normalized_bytes=int(content["normalized"]["bytes"]),
                normalized_chain=bytes.fromhex(content["normalized"]["chain"]),
                events_evicted=bool(content["normalized"].get("evicted")),
                sources=[_state(entry) for entry in content["sources"]],
                notes=_unpacked(content["notes"], Notes) if "notes" in content else None,
            )
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"not a meta file of retro: {error!r}") from None


def _state(entry: Any) -> SourceState:
    if "state" in entry:
        return _unpacked(entry["state"], SourceState)
    return SourceState(
        key=str(entry["key"]),
        revision=int(entry["revision"]),
        kind=str(entry["kind"]),
        path=os.fsencode(str(entry["path"])),
        file=str(entry["file"]),
        archive_name=str(entry["archive_name"]),
        device=int(entry["device"]),
        inode=int(entry["inode"]),
        size=int(entry["size"]),
        mtime_ns=int(entry["mtime_ns"]),
        captured=str(entry["captured"]),
        offset=int(entry["captured_bytes"]),
        raw_bytes=int(entry["raw_bytes"]),
        chain=bytes.fromhex(entry["chain"]),
        form=str(entry["form"]),
    )


def _unpacked(text: str, kind: type[Known]) -> Known:
    try:
        return msgspec.msgpack.decode(base64.b64decode(text), type=kind)
    except (ValueError, msgspec.MsgspecError) as error:
        raise ValueError(f"its state cannot be read: {error}") from None
