"""Errors as a user meets them: any exception as a `Failure`, and a `Failure` as a line or a JSON object."""

from __future__ import annotations

import errno
import os
import traceback

from retro.cli import output
from retro.failure import Failure

_REFUSALS = {
    errno.ENOSPC: ("disk_full", "no space left on the disk", "free some space, then run it again; nothing is lost"),
    errno.EDQUOT: ("disk_full", "your disk quota is used up", "free some space, then run it again; nothing is lost"),
    errno.EROFS: ("read_only", "the file system is read-only", "choose another archive with --root or RETRO_ROOT"),
    errno.EACCES: ("permission", "permission denied", "check who owns it, or choose another archive with --root"),
    errno.EPERM: ("permission", "not permitted", "check who owns it, or choose another archive with --root"),
    errno.EMFILE: ("too_many_files", "too many open files", "raise the limit (ulimit -n), or sweep with fewer workers"),
}


def explained(error: BaseException) -> Failure:
    """The `Failure` that tells a user about any exception."""
    if isinstance(error, Failure):
        return error
    if os.environ.get("RETRO_DEBUG") == "1":
        output.error_lines("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    if isinstance(error, OSError) and error.errno is not None:
        return _refusal(error)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    message = f"internal error: {what[:300]} ({_place(error)})"
    return Failure("internal", message, "set RETRO_DEBUG=1 to see the traceback, and please report it")


def show(failure: Failure, as_json: bool) -> None:
    """Print a failure: one JSON object on stdout, or a line and its hint on stderr."""
    if as_json:
        content = {"kind": failure.kind, "message": failure.message, "hint": failure.hint}
        output.print_object({"error": content})
        return
    lines = failure.message + (f"\n  {failure.hint}" if failure.hint else "")
    output.error_lines(f"retro: {lines}")


def _refusal(error: OSError) -> Failure:
    kind, message, hint = _REFUSALS.get(error.errno or 0, ("io", error.strerror or str(error), None))
    return Failure(kind, f"{message}: {os.fsdecode(error.filename)}" if _has_path(error) else message, hint)


def _has_path(error: OSError) -> bool:
    return isinstance(error.filename, (str, bytes))


def _place(error: BaseException) -> str:
    """The innermost line of ours that the error passed through."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if os.path.abspath(frame.filename).startswith(home)] or list(frames)
    if not ours:
        return "unknown place"
    return f"{os.path.relpath(ours[-1].filename, os.path.dirname(home))}:{ours[-1].lineno}"
