"""Which sessions of an experiment get no weave: decided by a hash of the session's id. On the light path."""

from __future__ import annotations

from _blake2 import blake2b  # what hashlib gives, without loading OpenSSL

RUNNING = "experiment"
"""The setting in the index that says which experiment runs."""


def is_withheld(seed: str, session_id: str, share: float) -> bool:
    """Whether this session is one of the share that gets nothing. Nothing else about it plays a part."""
    drawn = blake2b(f"{seed}\0{session_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(drawn, "big") < share * 2**64
