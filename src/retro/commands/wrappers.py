"""Programs that only run another one, and what they run: `sudo`, `timeout`, `uv run`, `npx`, `bash -c`, `xargs`, …"""

from __future__ import annotations

import re
from typing import Final

from retro.commands.parsing import Simple, parsed

DEPTH: Final = 8
"""Wrappers within wrappers that are followed."""

_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "ash", "busybox"})
_VERSIONED = re.compile(r"^(python|pypy|ruby|node|php|perl|lua|gcc|g\+\+|clang|pip)[\d.]+$")
_SUFFIX = re.compile(r"\.(?:exe|cmd|bat|ps1)$", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")

# Options that take the next word, by wrapper. Any other word that begins with a dash stands for itself.
_WITH_VALUE: Final[dict[str, frozenset[str]]] = {
    name: frozenset(options.split())
    for name, options in {
        "sudo": "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir",
        "doas": "-u -C",
        "env": "-u -C -S --unset --chdir",
        "timeout": "-k -s --kill-after --signal",
        "nice": "-n --adjustment",
        "ionice": "-c -n -p --class --classdata",
        "stdbuf": "-i -o -e --input --output --error",
        "xargs": "-I -n -P -L -d -E -s -a --max-args --max-procs --replace --delimiter --arg-file",
        "xvfb-run": "-n -s -e -f --server-num --server-args",
        "flock": "-w -E --timeout",
        "uv run": "--with --extra --group --package --python -p --directory --project --env-file --index --only-group"
        " --with-requirements --with-editable --no-group",
        "uvx": "--from --with --python -p --index",
        "poetry run": "-C -P --directory --project",
        "conda run": "-n -p --name --prefix --cwd",
        "npx": "-p --package --workspace -w --prefix",
        "docker exec": "-u -w -e --user --workdir --env --env-file",
        "docker run": "-u -w -e -v -p --user --workdir --env --env-file --volume --mount --name --network --entrypoint"
        " --platform --publish --add-host -h --hostname --memory --cpus --gpus --shm-size -l --label",
        "docker compose exec": "-u -w -e --user --workdir --env --index",
        "docker compose run": "-u -w -e -v -p --user --workdir --env --volume --publish --name --entrypoint",
        "kubectl exec": "-n -c --namespace --container --context",
        "ssh": "-i -p -l -o -F -J -L -R -D -c -m -b -e -W",
        "coverage run": "--source --omit --include --rcfile --data-file --context --concurrency",
        "python": "-W -X --check-hash-based-pycs",
        "watch": "-n --interval",
        "parallel": "-j --jobs",
        "cross-env": "",
    }.items()
}

# How many words of the wrapper's own stand between its options and the command.
_OWN_WORDS: Final[dict[str, int]] = {
    **dict.fromkeys(
        (
            *("sudo", "doas", "env", "nice", "ionice", "stdbuf", "xargs", "xvfb-run", "uv run", "uvx", "poetry run"),
            *(
                "nohup",
                "setsid",
                "exec",
                "command",
                "builtin",
                "time",
                "chronic",
                "unbuffer",
                "caffeinate",
                "cross-env",
            ),
            *("pipenv run", "pdm run", "hatch run", "rye run", "conda run", "mamba run", "micromamba run", "pixi run"),
            *("npx", "bunx", "pnpx", "pnpm exec", "pnpm dlx", "yarn dlx", "yarn exec", "npm exec", "bun x"),
            *("bundle exec", "rbenv exec", "asdf exec", "mise exec", "mise x", "dotenv run", "dotenv", "doppler run"),
            *("op run", "infisical run", "pipx run", "uv tool run", "watch", "parallel", "corepack"),
            *("dotenv-cli", "fnm exec", "nvm exec", "volta run", "devbox run", "strace", "ltrace"),
        ),
        0,
    ),
    **dict.fromkeys(
        ("timeout", "gtimeout", "flock", "direnv exec", "docker exec", "docker run", "ssh", "kubectl exec"), 1
    ),
    **dict.fromkeys(("docker compose exec", "docker compose run", "podman exec", "podman run", "taskset"), 1),
}
_FIRST: Final = frozenset(name.partition(" ")[0] for name in _OWN_WORDS) | {"docker-compose"}
_TEXT_OPTIONS: Final = {"nix-shell": ("--run", "--command"), "su": ("-c", "--command"), "script": ("-c", "--command")}


def program_name(word: str) -> str:
    """How a program is called, without its folder, version or suffix: `/usr/bin/python3.11` is `python`."""
    if "/" not in word and "\\" not in word and "." not in word and not word[-1:].isdigit():
        return word
    name = _SUFFIX.sub("", word.replace("\\", "/").rstrip("/").rpartition("/")[2])
    found = _VERSIONED.match(name)
    return found[1] if found else name


def unwrapped(simple: Simple, depth: int = DEPTH) -> list[Simple]:
    """What a command runs in the end; a shell that is handed a text gives several."""
    if depth <= 0 or not simple.words:
        return [simple]
    name = program_name(simple.words[0])
    inner = None
    if name in _SHELLS or name in ("pwsh", "powershell", "cmd", "eval") or name in _TEXT_OPTIONS:
        inner = _text_of(name, simple)
    elif name == "find":
        inner = _executed(simple)
    elif name in _FIRST:
        inner = _of_wrapper(name, simple)
    elif name in _MODULES:
        inner = _module(simple)
    if inner is None:
        return [simple]
    return [last for command in inner for last in unwrapped(command, depth - 1)]


def _text_of(name: str, simple: Simple) -> list[Simple] | None:
    """The commands in the text that a shell is given; None where it is given a script's name."""
    words = simple.words
    if name == "eval":
        return parsed(" ".join(words[1:]))
    options = _TEXT_OPTIONS.get(name)
    for at, word in enumerate(words[1:], 1):
        low = word.lower()
        is_text = (
            word in options
            if options
            else (name in _SHELLS and re.fullmatch(r"-\w*c", word) is not None)
            or (name in ("pwsh", "powershell") and low in ("-c", "-command"))
            or (name == "cmd" and low in ("/c", "/k"))
        )
        if is_text:
            return parsed(" ".join(words[at + 1 :]) if name in ("cmd", "pwsh", "powershell") else _at(words, at + 1))
        if not word.startswith(("-", "/")) or (name in _SHELLS and word.startswith("/")):
            return None
    return parsed(simple.document) if simple.document is not None and name in _SHELLS else None


def _at(words: tuple[str, ...], place: int) -> str:
    return words[place] if place < len(words) else ""


def _executed(simple: Simple) -> list[Simple] | None:
    """What `find -exec` runs."""
    for at, word in enumerate(simple.words):
        if word in ("-exec", "-execdir", "-ok") and at + 1 < len(simple.words):
            rest = simple.words[at + 1 :]
            ends = [place for place, part in enumerate(rest) if part in (";", "+", "\\;")]
            return [simple._replace(words=rest[: ends[0]] if ends else rest)]
    return None


def _of_wrapper(name: str, simple: Simple) -> list[Simple] | None:
    words = (("docker", "compose") if name == "docker-compose" else (name,)) + simple.words[1:]
    for length in (3, 2, 1):
        wrapper = " ".join(words[:length])
        if wrapper in _OWN_WORDS and len(words) >= length:
            rest = _without_options(wrapper, words[length:])
            rest = rest[_OWN_WORDS[wrapper] :]
            while wrapper in ("env", "cross-env", "sudo", "time", "dotenv run") and rest and _ASSIGNMENT.match(rest[0]):
                rest = rest[1:]
            if rest[:1] == ("--",):
                rest = rest[1:]
            if wrapper in ("ssh", "watch", "nvm exec") and len(rest) == 1:
                return parsed(rest[0])
            rest = (rest[0].partition("@")[0] or rest[0], *rest[1:]) if wrapper in _PACKAGES and rest else rest
            return [simple._replace(words=rest)] if rest else None
    return None


_PACKAGES: Final = frozenset({"npx", "bunx", "pnpx", "uvx", "pnpm dlx", "yarn dlx", "bun x", "pipx run", "uv tool run"})


def _without_options(wrapper: str, words: tuple[str, ...]) -> tuple[str, ...]:
    takes = _WITH_VALUE.get(wrapper, frozenset())
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        if words[at] in ("-m", "--module") and wrapper in ("uv run", "coverage run"):
            return ("python", *words[at:])
        at += 2 if words[at] in takes else 1
    return words[at:]


def _module(simple: Simple) -> list[Simple] | None:
    """What `python -m NAME` runs: the module as a program of its own."""
    words = simple.words
    if program_name(words[0]) == "coverage":
        if _at(words, 1) != "run":
            return None
        rest = _without_options("coverage run", words[2:])
        return [simple._replace(words=rest if rest[:1] == ("python",) else ("python", *rest))]
    at, takes = 1, _WITH_VALUE["python"]
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "-m" and at + 1 < len(words):
            return [simple._replace(words=words[at + 1 :])]
        if words[at].startswith("-m") and len(words[at]) > 2:
            return [simple._replace(words=(words[at][2:], *words[at + 1 :]))]
        if words[at] in ("-c", "-"):
            return None
        at += 2 if words[at] in takes else 1
    return None


_MODULES: Final = frozenset({"python", "pypy", "py", "coverage"})
