"""Chats that are one document each: a damaged byte costs no chat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retro.agents import chatfiles

CHAT = json.dumps({"messages": [{"id": "m1", "role": "user", "content": "wind and tide"}]}).encode()


@pytest.mark.parametrize(
    "data", [CHAT, b"\xef\xbb\xbf" + CHAT, CHAT.replace(b"wind", b"w\xffnd"), CHAT.replace(b": ", b":\r\n")]
)
def test_a_chat_is_read_whatever_stands_before_it_and_in_it(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_bytes(data)
    tables = [(row.table, row.key) for row in chatfiles.rows(str(tmp_path / "chat.json"))]
    assert tables == [("chat", "chat"), ("message", "m1")]
