"""What a command line is: its kind, its program, what it reads and what it writes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from retro.commands.parsing import Simple, parsed
from retro.commands.tables import PROGRAMS, SCRIPTS, TARGETS, TEST_TARGETS, VERBS, Kind
from retro.commands.wrappers import program_name, unwrapped

REMEMBERED: Final = 2000
"""Lines of so many characters are not read again if they come again."""

PATHS: Final = 20
"""Files that are named of one line."""

_RANK: Final = {kind: rank for rank, kind in enumerate(Kind)}
_SCRIPT = re.compile(r"\.(?:py|js|mjs|cjs|ts|tsx|rb|pl|php|lua|sh|bash|zsh|jl|R|r|ps1|exs?|jar|class|out|exe|bin)$")
_TEST_SCRIPT = re.compile(r"(?:^|[/\\])(?:run[-_]?tests?|runtests|all[-_]?tests)(?:\.\w+)?$|(?:^|[/\\])bin[/\\]test$")
_NAMED_TEST = re.compile(r"(?:^|[:_-])(?:tests?|e2e|specs?|unit|vitest|jest|cypress|playwright|coverage)(?:$|[:_-])")
_NAMED_CHECK = re.compile(r"(?:^|[:_-])(?:lint|typecheck|type-check|types|tsc|check|eslint|validate|audit)(?:$|[:_-])")
_NAMED_FORMAT = re.compile(r"(?:^|[:_-])(?:format|fmt|prettier)(?:$|[:_-])")
_NAMED_BUILD = re.compile(r"(?:^|[:_-])(?:build|compile|bundle|dist|package|release)(?:$|[:_-])")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_DIFFED = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)", re.MULTILINE)
_IN_PLACE = re.compile(r"-[nErsuzplaw0-9]*i|--in-place")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")  # a module, as behind `python -m`
_SETTINGS: Final = frozenset({"--version", "-V", "--help", "-h"})


class Meaning(NamedTuple):
    """What one simple command is, or a whole line by the one that counts most."""

    kind: Kind
    program: str
    """With the word that says what it does: `git commit`, `npm test`."""
    writes: tuple[str, ...] = ()
    """Files whose content it changes or makes."""
    reads: tuple[str, ...] = ()
    subject: str = ""
    """What it is about, where that tells one run from another: the script, the tests."""
    last: bool = False
    """Nothing follows it in the line, so that its exit code is that of the line."""


NOTHING: Final = Meaning(Kind.OTHER, "")


def meaning(text: str) -> Meaning:
    """What a command line is; files of all its commands together."""
    parts = meanings(text)
    if not parts:
        return NOTHING
    first = min(parts, key=lambda part: _RANK[part.kind])
    if len(parts) == 1:
        return first
    writes = _distinct(path for part in parts for path in part.writes)
    reads = _distinct(path for part in parts for path in part.reads)
    return first._replace(writes=writes, reads=reads)


def meanings(text: str) -> list[Meaning]:
    """What each command of a line is, wrappers taken off; filters behind a pipe are left out."""
    return list(_known(text) if len(text) <= REMEMBERED else _meanings(text))


def _meanings(text: str) -> tuple[Meaning, ...]:
    found = []
    line = parsed(text)
    for simple in line:
        inner = unwrapped(simple)
        for one in inner:
            said = _meaning(one)
            if one is inner[-1] and simple is line[-1] and not simple.piped:
                said = said._replace(last=True)
            if not (one.piped and said.kind in _FILTERS and not said.writes):
                found.append(said)
    return tuple(found)


_known = lru_cache(maxsize=2048)(_meanings)


_FILTERS: Final = frozenset({Kind.READ, Kind.FIND, Kind.OTHER, Kind.LIST})


def _distinct(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))[:PATHS]


# --- one command -----------------------------------------------------------------------------------------------------


def _meaning(simple: Simple) -> Meaning:
    writes = tuple(path for path in simple.writes if not path.startswith(("/dev/", "&")))
    words = simple.words
    if not words:
        return Meaning(Kind.EDIT if writes else Kind.OTHER, "", writes)
    name = program_name(words[0])
    arguments = words[1:]
    verb = next((word for word in arguments if not word.startswith(("-", "+"))), "")
    said = _special(name, verb, simple) or _by_table(name, verb, arguments, words[0])
    if (said.kind is Kind.OTHER and writes) or (said.kind in (Kind.READ, Kind.LIST) and writes):
        said = said._replace(kind=Kind.EDIT)
    return said._replace(writes=said.writes + writes, reads=said.reads + simple.reads)


def _by_table(name: str, verb: str, arguments: tuple[str, ...], word: str) -> Meaning:
    if _SETTINGS.issuperset(arguments) and arguments:
        return Meaning(Kind.INSPECT, name)
    if "/" in word and _TEST_SCRIPT.search(word):
        return Meaning(Kind.TEST, name, subject=" ".join(_files(arguments)))
    if name in TARGETS and any(_is_test_target(argument) for argument in arguments):
        return Meaning(Kind.TEST, f"{name} test", subject=verb)
    verbs = VERBS.get(name)
    if verbs is not None and verb in verbs:
        kind = verbs[verb]
        return Meaning(kind, f"{name} {verb}", reads=_files(arguments[1:]) if kind is Kind.READ else ())
    if verbs is not None and (by_name := _by_name(verb)) is not None and name in ("make", "just", "task", "rake"):
        return Meaning(by_name, f"{name} {verb}")
    if name not in PROGRAMS and word not in PROGRAMS:
        return _unknown(name, word, arguments)
    kind = PROGRAMS.get(name) or PROGRAMS[word]
    if kind in (Kind.READ, Kind.LIST):
        return Meaning(kind, name, reads=_files(arguments))
    if kind is Kind.TEST:
        return Meaning(kind, name, subject=" ".join(_files(arguments)))
    return Meaning(kind, f"{name} {verb}" if verbs is not None and verb else name)


def _is_test_target(word: str) -> bool:
    return word in TEST_TARGETS or word.rpartition(":")[2] in TEST_TARGETS


def _unknown(name: str, word: str, arguments: tuple[str, ...]) -> Meaning:
    """A program that no table names: one of the project's own, if it is called by a path."""
    if _TEST_SCRIPT.search(word):
        return Meaning(Kind.TEST, name, subject=word)
    if "/" in word or "\\" in word or _SCRIPT.search(word) or _DOTTED.fullmatch(word):
        if by_table := VERBS.get(name):
            for argument in arguments:
                if argument in by_table:
                    return Meaning(by_table[argument], f"{name} {argument}")
        return Meaning(Kind.RUN, name, subject=word)
    return Meaning(Kind.OTHER, name)


def _files(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the arguments that can be names of files."""
    return tuple(
        word
        for word in arguments
        if word and not word.startswith("-") and ("." in word or "/" in word) and len(word) < 300
    )[:PATHS]


# --- programs whose arguments decide ---------------------------------------------------------------------------------


def _special(name: str, verb: str, simple: Simple) -> Meaning | None:
    if name in _DECIDED:
        return _DECIDED[name](name, verb, simple)
    if name in _SHELLS:
        return _interpreter(name, verb, simple)
    if name in SCRIPTS or name == "npm":
        return _package_script(name, simple)
    return None


def _package_script(name: str, simple: Simple) -> Meaning | None:
    """`npm run test:unit`, `yarn test`, `pnpm -r lint`: what a script is, its name says."""
    arguments = [word for word in simple.words[1:] if not word.startswith("-")]
    if arguments and arguments[0] in ("workspace", "--filter", "-F"):
        arguments = arguments[2:]
    named = arguments[0] if arguments else ""
    if named in ("run", "run-script", "rum", "task", "exec") and len(arguments) > 1:
        return Meaning(_by_name(arguments[1]) or Kind.RUN, f"{name} run {arguments[1]}")
    verbs = VERBS.get(name, {})
    if named in verbs:
        return None
    if named == "start":
        return Meaning(Kind.RUN, f"{name} start")
    by_name = _by_name(named)
    if by_name is not None and name not in ("deno",):
        return Meaning(by_name, f"{name} {named}")
    return None


def _by_name(script: str) -> Kind | None:
    for pattern, kind in _NAMES:
        if pattern.search(script):
            return kind
    return None


_NAMES: Final = (
    (_NAMED_CHECK, Kind.CHECK),
    (_NAMED_FORMAT, Kind.FORMAT),
    (_NAMED_TEST, Kind.TEST),
    (_NAMED_BUILD, Kind.BUILD),
)


def _interpreter(name: str, verb: str, simple: Simple) -> Meaning:
    """A script, or code in the command itself; the script's name may be that of a test runner."""
    words = simple.words[1:]
    code = next((at for at, word in enumerate(words) if word in ("-c", "-e", "--eval", "-r", "-E", "-p")), None)
    script = next((word for word in words if not word.startswith("-")), "")
    if "--test" in words and name == "node":
        return Meaning(Kind.TEST, "node --test", subject=script)
    if code is not None:
        text = words[code + 1] if code + 1 < len(words) else ""
        is_test = any(mark in text for mark in ("Pkg.test(", "devtools::test(", "testthat::", "unittest.main("))
        return Meaning(Kind.TEST if is_test else Kind.RUN, f"{name} {words[code]}")
    if not script:
        if _SETTINGS.intersection(words) or "-v" in words:
            return Meaning(Kind.INSPECT, name)
        return Meaning(Kind.RUN, name)
    base = script.replace("\\", "/").rpartition("/")[2]
    if base in VERBS and base.endswith(".py"):
        at = words.index(script)
        said = next((word for word in words[at + 1 :] if not word.startswith("-")), "")
        return Meaning(VERBS[base].get(said, Kind.RUN), f"{base} {said}".strip(), subject=script)
    if base == "artisan":
        said = next((word for word in words[words.index(script) + 1 :] if not word.startswith("-")), "")
        return Meaning(VERBS["artisan"].get(said, Kind.RUN), f"artisan {said}".strip())
    if _TEST_SCRIPT.search(script) or PROGRAMS.get(base) is Kind.TEST:
        return Meaning(Kind.TEST, base, subject=" ".join(_files(words)))
    if name == "ruby" and any(word in ("-Itest", "-Ilib:test", "-Itest:lib", "-Ispec") for word in words):
        return Meaning(Kind.TEST, "ruby -Itest", subject=script)
    return Meaning(Kind.RUN, f"{name} {base}", reads=(script,), subject=script)


def _sed(name: str, verb: str, simple: Simple) -> Meaning:
    words = list(simple.words[1:])
    in_place = any(_IN_PLACE.match(word) for word in words)
    if name == "perl" and not in_place:
        return _interpreter(name, verb, simple)
    if "-i" in words and words[words.index("-i") + 1 :][:1] == [""]:  # BSD's: no copy is wanted
        words = words[: words.index("-i") + 1] + words[words.index("-i") + 2 :]
    plain = [word for word in words if not word.startswith("-")]
    has_script = any(word in ("-e", "-f", "--expression") for word in words)
    files = tuple(plain if has_script and name != "perl" else plain[1:])[:PATHS]
    if in_place:
        return Meaning(Kind.EDIT, f"{name} -i", writes=files)
    return Meaning(Kind.READ, name, reads=files)


def _patch(name: str, verb: str, simple: Simple) -> Meaning:
    text = simple.document if simple.document is not None else " ".join(simple.words[1:])
    return Meaning(Kind.EDIT, name, writes=_distinct([*_PATCHED.findall(text), *_DIFFED.findall(text)]))


def _tee(name: str, verb: str, simple: Simple) -> Meaning:
    return Meaning(Kind.EDIT, name, writes=tuple(word for word in simple.words[1:] if not word.startswith("-")))


def _git(name: str, verb: str, simple: Simple) -> Meaning:
    words = list(simple.words[1:])
    while words and words[0].startswith("-"):
        takes = words[0] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace")
        words = words[2 if takes else 1 :]
    verb = words[0] if words else ""
    rest = words[1:]
    if verb == "commit" and "--dry-run" in rest:
        return Meaning(Kind.INSPECT, "git commit --dry-run")
    if verb == "apply" and ("--check" in rest or "--stat" in rest):
        return Meaning(Kind.INSPECT, "git apply --check")
    kind = VERBS["git"].get(verb, Kind.OTHER)
    if kind is Kind.EDIT and simple.document is not None:
        return _patch(f"git {verb}", verb, simple)
    return Meaning(kind, f"git {verb}".strip(), reads=_files(tuple(rest)) if kind is Kind.READ else ())


def _moved(name: str, verb: str, simple: Simple) -> Meaning:
    files = [word for word in simple.words[1:] if not word.startswith("-")]
    return Meaning(Kind.FORMAT if name == "mv" else Kind.OTHER, name, writes=tuple(files[-1:]))


def _formatter(name: str, verb: str, simple: Simple) -> Meaning:
    """Formatters that only look when told so, and linters that change code when told so."""
    words = set(simple.words[1:])
    looks = words & {"--check", "--diff", "--list-different", "-l", "--dry-run", "--check-only", "-c", "-d", "-D"}
    changes = words & {
        "--fix",
        "--write",
        "-w",
        "--autocorrect",
        "-a",
        "-A",
        "--auto-correct",
        "--unsafe-fixes",
        "--apply",
        "-i",
    }
    kind = VERBS.get(name, {}).get(verb) or PROGRAMS[name]
    if kind is Kind.FORMAT and looks:
        kind = Kind.CHECK
    elif kind is Kind.CHECK and changes:
        kind = Kind.FORMAT
    return Meaning(kind, f"{name} {verb}" if verb in VERBS.get(name, {}) else name)


def _cmake(name: str, verb: str, simple: Simple) -> Meaning | None:
    words = simple.words[1:]
    for at, word in enumerate(words):
        if word in ("--target", "-t") and at + 1 < len(words) and words[at + 1] in TEST_TARGETS:
            return Meaning(Kind.TEST, "cmake test")
    return None


def _clojure(name: str, verb: str, simple: Simple) -> Meaning | None:
    if any(re.match(r"-[MXA]?:[\w:]*test", word) for word in simple.words[1:]):
        return Meaning(Kind.TEST, f"{name} test")
    return None


def _awk(name: str, verb: str, simple: Simple) -> Meaning:
    words = [word for word in simple.words[1:] if not word.startswith("-")]
    return Meaning(Kind.READ, name, reads=tuple(words[1:])[:PATHS])


def _search(name: str, verb: str, simple: Simple) -> Meaning:
    return Meaning(Kind.FIND, name)


_SHELLS: Final = frozenset(
    [
        "python",
        "pypy",
        "py",
        "ipython",
        "node",
        "ts-node",
        "tsx",
        "ruby",
        "php",
        "lua",
        "luajit",
        "julia",
        "Rscript",
        "R",
        "bash",
        "sh",
        "zsh",
        "dash",
        "ksh",
        "fish",
        "pwsh",
        "powershell",
        "source",
        ".",
        "perl",
        "java",
        "elixir",
        "groovy",
        "kotlin",
        "scala",
        "ocaml",
        "racket",
        "runghc",
        "deno-run",
        "osascript",
    ]
)
_DECIDED: Final = {
    **dict.fromkeys(("sed", "gsed", "perl"), _sed),
    **dict.fromkeys(("patch", "apply_patch", "applypatch"), _patch),
    **dict.fromkeys(("mv", "cp", "Move-Item"), _moved),
    **dict.fromkeys(("awk", "gawk", "mawk"), _awk),
    **dict.fromkeys(("grep", "rg", "find", "ag", "egrep", "fgrep"), _search),
    **dict.fromkeys(
        (
            "black",
            "isort",
            "prettier",
            "gofmt",
            "rustfmt",
            "clang-format",
            "shfmt",
            "eslint",
            "ruff",
            "rubocop",
            "biome",
        ),
        _formatter,
    ),
    **dict.fromkeys(("clj", "clojure"), _clojure),
    "tee": _tee,
    "git": _git,
    "cmake": _cmake,
}
