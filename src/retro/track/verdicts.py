"""How a run of tests went: what its runner says at the end, and else its exit code."""

from __future__ import annotations

import re
from typing import Final

from retro.track.columns import Flag

TAIL: Final = 3000
"""Characters of the end of an output that are looked at; every runner sums up at its end."""

LINE: Final = 400
"""Characters of a line that sums up, at most."""

_SAYING: Final = (
    *("fail", "pass", "error", "success", "executed", "tests", "examples", "runs,", "congrat", "collected", "not ok"),
    *("no test", "no module", "not found", "*not* commit", "[ok]", ": ok", "| ok", "broken"),
)
"""What stands, in small letters, in every line that the patterns below know."""

_N = r"[1-9]\d*(?:,\d{3})*"
# All of it in small letters, as what they are looked for in.
# What begins alike stands in one group: at each character of an output only the groups are tried.
_FAILED = re.compile(
    rf"""
    \b(?:
        {_N}[ ](?:
            (?:tests?[ ]|specs?[ ]|examples?[ ]|suites?[ ]|scenarios?[ ]|test[ ]suites?[ ])?
                (?:failed|failures?|failing|fail|broken|errored)\b
            |errors?\b(?=[^\n]{{0,40}}(?:\bin[ ][\d.]+|=====|during[ ]collection|$))
        )
        |(?:failures?|failed|errors?|fail|errored)[ ]?[:=][ ]?{_N}\b
        |build[ ]fail(?:ed|ure)\b
    )
    |^(?:
        \#[ ]fail[ ]{_N} |failed[ ]\( |fail\b |---[ ]fail:[ ] |failures!$ |not[ ]ok[ ]\d |(?:result:|status:)[ ]fail
        |failed![ ] |e[ ]{{3}}(?:modulenotfounderror|importerror)
        |error:[ ](?:test[ ]failed|could[ ]not[ ]compile|not[ ]found|file[ ]or[ ]directory[ ]not[ ]found)
    )
    |test[ ](?:result:|run)[ ]failed |\*\*[ ]test[ ]failed[ ]\*\* |some[ ]tests[ ]failed
    |\*\*\*[ ]\d+[ ](?:tests?|suites?)[ ]failed |evaluation[ ]failed[ ]:\( |do[ ]\*not\*[ ]commit
    |\[[ ]{{2}}failed[ ]{{2}}\]
    """,
    re.VERBOSE | re.MULTILINE,
)
_PASSED = re.compile(
    rf"""
    \b(?:
        {_N}[ ](?:
            (?:tests?[ ]|specs?[ ]|examples?[ ]|suites?[ ]|scenarios?[ ])?(?:passed|passing|pass|successes|ok)\b
            |(?:tests?|examples|runs|specs?|scenarios?)\b
        )
        |(?:passed|pass|passes|success)[ ]?[:=]?[ ]{_N}\b
        |tests[ ]run:[ ]{_N}, |build[ ]success(?:ful)?\b
    )
    |^(?:\#[ ]pass[ ]{_N} |ok\b |pass\b |passed![ ])
    |executed[ ]{_N}[ ](?:tests?|of)\b |test[ ]result:[ ]ok
    |all[ ](?:\d+[ ])?(?:tests?|specs)[ ](?:successful|passed) |\*\*[ ]test[ ]succeeded[ ]\*\*
    |test[ ]run[ ]successful |congratulations[ ]:\) |result:[ ]pass |\[[ ]{{2}}passed[ ]{{2}}\]
    |\[ok\][ ]*$ |100%[ ]tests[ ]passed
    """,
    re.VERBOSE | re.MULTILINE,
)
_NONE = re.compile(
    r"no tests ran|no tests? (?:to run|files? found|found|collected)|collected 0 items(?! /)|ran 0 tests"
    r"|command not found|no module named \S*(?:pytest|nose|unittest|tox)"
)
_EMPTY: Final = "[no test files]"
"""Of one package among others."""
_NEUTRAL = re.compile(r"\b(?:0|no) (?:failed|failures?|failing|errors?)\b|\bxfailed\b|expected failures?")


_TO_FAIL: Final = ("fail", "error", "broken", "not ok", "*not*")
"""Of these one stands in everything that says that tests failed."""


def verdict(text: str | None, flags: int, exit_code: int | None, is_error: bool | None) -> int:
    """The flag of how the tests went; 0 where nothing tells.

    What the runner says goes before the exit code, which behind a pipe is that of another program.
    """
    tail = _sayings(text) if text else ""
    if tail:
        tail = _NEUTRAL.sub("", tail)
        if any(word in tail for word in _TO_FAIL) and _FAILED.search(tail):
            return Flag.TESTS_FAILED
        if _NONE.search(tail):
            return 0
        if _PASSED.search(tail):
            return Flag.TESTS_PASSED
        if _EMPTY in tail:
            return 0
    if exit_code:
        return Flag.TESTS_FAILED if flags & Flag.DECIDES and exit_code not in (5, 126, 127) else 0
    if is_error and exit_code is None:
        return Flag.TESTS_FAILED if flags & Flag.DECIDES else 0
    told = exit_code == 0 or is_error is False
    return Flag.TESTS_PASSED if told and flags & Flag.DECIDES else 0


def _sayings(text: str) -> str:
    """The lines at the end of an output that may say how it went, in small letters."""
    tail = text[-TAIL:].lower()
    marks = [mark for mark in _SAYING if mark in tail]
    if not marks and "ok" not in tail:
        return ""
    lines = tail.splitlines()
    return "\n".join([line for line in lines if len(line) <= LINE and _may_say(line, marks)])


def _may_say(line: str, marks: list[str]) -> bool:
    return line.startswith("ok") or any(mark in line for mark in marks)
