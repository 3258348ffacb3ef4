"""What went wrong, in the words that a user gets to read. Ground floor: imports nothing of ours."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` would cost a fifth of the light path's start
if TYPE_CHECKING:
    from collections.abc import Iterable

FAILED = 1
WRONG_USAGE = 2
BUSY = 3
CHECK_NOT_PASSED = 4


class Failure(Exception):
    """An expected error: printed as one line with its hint, or with `--json` as an object; never as a traceback.

    `kind` is a stable snake_case word for programs, `message` says what is wrong, `hint` what to do about it.
    """

    def __init__(self, kind: str, message: str, hint: str | None = None, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.exit_code = exit_code


def did_you_mean(word: str, choices: Iterable[str]) -> str | None:
    """`did you mean "sweep"?` for the choice nearest to a mistyped word, or None where none is near."""
    import difflib

    near = difflib.get_close_matches(word[:100], list(choices), n=1)
    return f'did you mean "{near[0]}"?' if near else None


def internal(error: BaseException) -> str:
    """One line about an error that nobody expected, with the place where it came up; raises it to whoever looks for it.

    `RETRO_DEBUG` says that somebody does.
    """
    if os.environ.get("RETRO_DEBUG"):
        raise error
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    return f"internal error: {error!r}{place}"
