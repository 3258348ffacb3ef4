"""What the scripted model says, as data; and what a client is thereby made to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Deed(NamedTuple):
    """One thing that a session is to show: what kind (an event's type, or whose words), and which."""

    kind: str
    what: str


class Call(NamedTuple):
    """A tool call of the model; a text instead of arguments is free-form input."""

    name: str
    given: Mapping[str, object] | str
    does: tuple[Deed, ...] = ()
    namespace: str | None = None


class Reply(NamedTuple):
    """One answer of the model to one request."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    error: int = 0
    """The HTTP status with which the request fails instead."""
    held: bool = False
    """It never comes."""
    full: int = 0
    """So many input tokens are claimed, so that the client thinks its context full."""

    def deeds(self) -> list[Deed]:
        """What the session shows of it."""
        said = [Deed("reasoning", self.thinking)] if self.thinking else []
        said += [Deed("answer", self.text)] if self.text and not self.error else []
        return said + [deed for call in self.calls for deed in call.does]


class Lane(NamedTuple):
    """Replies to the requests that stand under a prompt with these words, one after the other."""

    words: str
    replies: tuple[Reply, ...]
    model: str = ""
    """Part of the model's name, where the same words are answered differently."""
    repeat: bool = False
    """The last reply is given again and again."""
    aside: bool = False
    """Its requests are the client's own: its words are the last that are sent, beside what was typed."""
    tool: str = ""
    """A tool that is offered with these requests only."""

    def turn(self, prompt: str) -> list[Deed]:
        """What a session shows of a prompt that was typed, and of all that followed."""
        return [Deed("prompt", prompt), *(deed for reply in self.replies for deed in reply.deeds())]


# --- Claude Code ------------------------------------------------------------------------------------------------------


def bash(command: str) -> Call:
    """Claude Code runs a command."""
    return Call("Bash", {"command": command, "description": "Run it"}, (Deed("command", command),))


def read(path: str) -> Call:
    """Claude Code reads a file."""
    return Call("Read", {"file_path": path}, (Deed("file_read", path),))


def edit(path: str, old: str, new: str) -> Call:
    """Claude Code replaces a text in a file."""
    return Call("Edit", {"file_path": path, "old_string": old, "new_string": new}, (Deed("file_edit", path),))


def write(path: str, content: str) -> Call:
    """Claude Code writes a file."""
    return Call("Write", {"file_path": path, "content": content}, (Deed("file_edit", path),))


# --- Codex ------------------------------------------------------------------------------------------------------------


def execute(command: str) -> Call:
    """Codex runs a command, by a tool of that name."""
    return Call("exec_command", {"cmd": command}, (Deed("command", command),))


def patch(body: str, *paths: str) -> Call:
    """Codex edits files."""
    return Call("apply_patch", body, edited(*paths))


def edited(*paths: str) -> tuple[Deed, ...]:
    """What one edit of several files shows."""
    return tuple(Deed("file_edit", path) for path in sorted(paths))


def code(javascript: str, *does: Deed) -> Call:
    """Codex runs the model's own JavaScript, in which the true calls stand."""
    return Call("exec", javascript, does, "functions")
