"""Settings: one TOML file of the user's, the environment, defaults; every value knows where it came from."""

from __future__ import annotations

import os

from retro import places, toml_text
from retro.failure import WRONG_USAGE, Failure, did_you_mean

TYPE_CHECKING = False  # as in places: this is read on the light path
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Final

    Path = tuple[str, ...]

PERIODS = ("daily", "weekly", "monthly")
"""For which there may be a budget."""

FILE_LIMIT = 1024 * 1024
"""Bytes; a settings file above it is a mistake, and is refused."""

DEFAULT = "default"
OPTION = "option"


class ConfigError(Failure):
    """The settings file cannot be used; `file` and `line` say where it is wrong."""

    def __init__(self, file: str, line: int | None, problem: str, hint: str | None = None) -> None:
        super().__init__("config", f"{_place(file, line)}: {problem}", hint, WRONG_USAGE)
        self.file = file
        self.line = line


# --- what may stand in the file --------------------------------------------------------------------------------------
# A check gives the value as it is used, or raises ValueError with what was expected.


def _path(value: object) -> str:
    expected = 'a path that is absolute or begins with "~"'
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(expected)
    expanded = os.path.expanduser(value)
    if not os.path.isabs(expanded):  # relative to what? The current folder decides nothing.
        raise ValueError(expected)
    return os.path.normpath(expanded)


def _paths(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError('a list of paths that are absolute or begin with "~"')
    return tuple(_path(item) for item in value)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ValueError("a list of texts that are not empty")
    return tuple(value)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    return value


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _whole(lowest: int, highest: int) -> Callable[[object], int]:
    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
            raise ValueError(f"a whole number from {lowest} to {highest}")
        return value

    return check


def _one_of(*words: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"one of {', '.join(words)}")
        return value

    return check


def _bytes(value: object) -> int:
    """A size: bytes, or a text such as "20 GB" or "512 MiB"."""
    expected = 'a number of bytes above 0, or a text such as "20 GB" or "512 MiB"'
    if isinstance(value, str):
        number, unit = value.rstrip("BbiI "), value.strip().lower()
        digits = number.rstrip("kKmMgGtT ")
        power = "kmgt".find(number[len(digits) :].strip().lower() or "?") + 1
        try:
            size = int(float(digits) * (1024 if unit.endswith("ib") else 1000) ** power)
        except (ValueError, OverflowError):
            raise ValueError(expected) from None
    elif isinstance(value, int) and not isinstance(value, bool):
        size = value
    else:
        raise ValueError(expected)
    if size <= 0:
        raise ValueError(expected)
    return size


def _number(lowest: int, highest: int) -> Callable[[object], float]:
    def check(value: object) -> float:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not lowest <= value <= highest:
            raise ValueError(f"a number from {lowest} to {highest}")
        return float(value)

    return check


def _dollars(value: object) -> int:
    """Dollars as microdollars."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value <= 1_000_000_000:
        raise ValueError("a number of dollars above 0")
    return round(value * 1_000_000)


# One row a setting: its check and its default. A new section is a new key here and properties on `Settings`.
SCHEMA: dict[str, dict[str, tuple[Callable[[object], object], object]]] = {
    "archive": {"root": (_path, None), "registered": (_paths, ())},
    "ignore": {"projects": (_texts, ())},
    "retention": {
        "raw_soft_cap_bytes": (_bytes, None),
        "raw_hard_cap_bytes": (_bytes, None),
        "raw_max_age_days": (_whole(1, 36500), None),
        "distilled_cap_bytes": (_bytes, None),
        "allow_data_loss": (_switch, False),
    },
    "hooks": {"sweep": (_switch, False)},
    "mining": {"update": (_one_of("add", "validate", "adjust"), "adjust")},
    "budgets": {
        **dict.fromkeys(PERIODS, (_dollars, None)),
        "limit_percent": (_number(1, 100), 100.0),
    },
    "recall": {"telemetry": (_switch, True)},
    "semantic": {"model": (_path, None), "threads": (_whole(0, 1024), 0), "batch": (_whole(1, 1024), 16)},
    "sweep": {"workers": (_whole(0, 64), 0), "lock_wait_seconds": (_number(0, 3600), 10.0)},
}
HOST_SCHEMA: dict[str, tuple[Callable[[object], object], object]] = {
    "enabled": (_switch, True),
    "sources": (_paths, ()),
}


# --- settings --------------------------------------------------------------------------------------------------------


class HostSettings:
    """What the user says of one host: whether it is read, and where it keeps sessions beside its usual places."""

    __slots__ = ("enabled", "sources")

    def __init__(self, enabled: bool, sources: tuple[str, ...]) -> None:
        self.enabled: Final = enabled
        self.sources: Final = sources


class Settings:
    """The settings in force. Never changed; `load` makes one."""

    __slots__ = ("_environment", "_text", "_values", "file", "warnings")

    def __init__(
        self,
        file: str,
        values: dict[Path, object] | None = None,
        text: str = "",
        environment: dict[Path, str] | None = None,
        warnings: tuple[str, ...] = (),
    ) -> None:
        self.file: Final = file
        """The settings file, whether it exists or not."""
        self.warnings: Final = warnings
        """What in the file was not understood, one line each."""
        self._values: Final = values or {}
        self._text: Final = text
        self._environment: Final = environment or {}

    @property
    def folder(self) -> str | None:
        """The folder of the settings file, where the user's own prices lie as well; None without a file."""
        return os.path.dirname(self.file) or None

    @property
    def archive_root(self) -> str | None:
        """The data root, where the user named one."""
        value = self._value("archive", "root")
        return value if isinstance(value, str) else None

    @property
    def registered(self) -> tuple[str, ...]:
        """The archives that `retro init` made."""
        return self._texts("archive", "registered")

    @property
    def ignored_projects(self) -> tuple[str, ...]:
        """Patterns of projects whose sessions are not kept."""
        return self._texts("ignore", "projects")

    @property
    def sweep_workers(self) -> int:
        """Worker processes of a sweep; 0: as many as make sense, at most 4."""
        value = self._value("sweep", "workers")
        return value if isinstance(value, int) else 0

    @property
    def lock_wait_seconds(self) -> float:
        """How long to wait for another sweep to end."""
        value = self._value("sweep", "lock_wait_seconds")
        return value if isinstance(value, float) else 0.0

    @property
    def sweep_after_hook(self) -> bool:
        """Whether the hook that tells of a session's end starts a sweep, instead of leaving it for the next one."""
        return self._value("hooks", "sweep") is True

    @property
    def telemetry(self) -> bool:
        """Whether calls of `retro recall` are noted, in the archive and nowhere else."""
        return self._value("recall", "telemetry") is True

    @property
    def semantic_model(self) -> str | None:
        """The folder of a model of the user's own for search by meaning."""
        value = self._value("semantic", "model")
        return value if isinstance(value, str) else None

    def semantic(self, key: str) -> int:
        """`threads` (0: as many as there are cores) or `batch` of search by meaning."""
        value = self._value("semantic", key)
        return value if isinstance(value, int) else 0

    @property
    def mining_update(self) -> str:
        """What mining does with a procedure: `add`, `validate` or `adjust`."""
        return str(self._value("mining", "update"))

    def limit(self, key: str) -> int | None:
        """A limit of `[retention]`; None where there is none."""
        value = self._value("retention", key)
        return value if isinstance(value, int) else None

    @property
    def budgets(self) -> list[tuple[str | None, str, int]]:
        """What may be spent: project (None: all), period, microdollars."""
        found = []
        for path, value in self._values.items():
            if path[0] == "budgets" and path[-1] in PERIODS and isinstance(value, int):
                found.append((path[2] if len(path) > 2 else None, path[-1], value))
        return sorted(found, key=lambda budget: (budget[0] or "", PERIODS.index(budget[1])))

    @property
    def limit_percent(self) -> float:
        """How much of a provider's limit may be used."""
        value = self._value("budgets", "limit_percent")
        return value if isinstance(value, float) else 100.0

    @property
    def allow_data_loss(self) -> bool:
        """Whether, as the last resort, sessions may be given up from which nothing was distilled."""
        return self._value("retention", "allow_data_loss") is True

    @property
    def domains(self) -> dict[str, str]:
        """Repository pattern to domain, as written."""
        return {path[1]: str(value) for path, value in self._values.items() if path[0] == "domains"}

    def host(self, name: str) -> HostSettings:
        """What the user says of a host; the defaults where nothing is said."""
        enabled = self._values.get(("hosts", name, "enabled"), True)
        return HostSettings(enabled is True, self._texts("hosts", name, "sources"))

    def ignored(self, cwd: str | None, repository: str | None) -> bool:
        """Whether sessions of this folder or repository (`host/owner/name`) are not to be kept."""
        return any(_is_of_project(pattern, cwd, repository) for pattern in self.ignored_projects)

    def domain(self, repository: str | None) -> str | None:
        """The domain that a repository (`host/owner/name`) belongs to; of several patterns the longest decides."""
        if not repository:
            return None
        fits = [pattern for pattern in self.domains if _matches(pattern, repository)]
        return self.domains[max(fits, key=lambda pattern: (not _is_glob(pattern), len(pattern)))] if fits else None

    def origin(self, key: str) -> str:
        """Where a value came from: `default`, `file:line`, `env:NAME` or `option`. The key as `explain` writes it."""
        return {name: origin for name, _, origin in self.explain()}.get(key, DEFAULT)

    def explain(self) -> list[tuple[str, object, str]]:
        """Every setting in force as (key, value, origin), for `retro config show`."""
        known: dict[Path, object] = {
            (section, key): default for section, keys in SCHEMA.items() for key, (_, default) in keys.items()
        }
        values = {**known, **self._values}
        return [(".".join(path), values[path], self._origin(path)) for path in sorted(values)]

    def _origin(self, path: Path) -> str:
        if path in self._environment:
            return self._environment[path]
        return _place(self.file, toml_text.line_of(path, self._text)) if path in self._values else DEFAULT

    def _value(self, section: str, key: str) -> object:
        return self._values.get((section, key), SCHEMA[section][key][1])

    def _texts(self, *path: str) -> tuple[str, ...]:
        value = self._values.get(path, ())
        return value if isinstance(value, tuple) else ()


# --- reading ---------------------------------------------------------------------------------------------------------


def config_path(option: str | None, env: Mapping[str, str]) -> str:
    """The settings file: `--config`, else `RETRO_CONFIG`, else `config.toml` in the user's config folder."""
    named = option or env.get("RETRO_CONFIG")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    return os.path.join(places.config_folder(env), "config.toml")


def load(config: str | None, env: Mapping[str, str], *, root: str | None = None, hosts: Iterable[str] = ()) -> Settings:
    """Read the settings; `config` and `root` are the options given on the command line. Raises `ConfigError`.

    With the names of all `hosts`, sections of others are warned of.
    """
    file = config_path(config, env)
    text = _read(file, must_exist=config is not None)
    values: dict[Path, object] = {}
    warnings: list[str] = []
    if text:
        _check_all(_parse(text, file), _Findings(file, text, values, warnings), tuple(hosts))
    environment: dict[Path, str] = {}
    for named, origin in ((env.get("RETRO_ROOT"), "env:RETRO_ROOT"), (root, OPTION)):
        if named:
            values["archive", "root"] = os.path.abspath(os.path.expanduser(named))
            environment["archive", "root"] = origin
    return Settings(file, values, text, environment, tuple(warnings))


class _Findings:
    """What checking a file collects: values, warnings, and the lines to report them with."""

    def __init__(self, file: str, text: str, values: dict[Path, object], warnings: list[str]) -> None:
        self.file = file
        self.values = values
        self._warnings = warnings
        self._text = text

    def refuse(self, path: Path, expected: str, value: object) -> ConfigError:
        line = toml_text.line_of(path, self._text)
        return ConfigError(self.file, line, f"{'.'.join(path)} must be {expected}, not {_shown(value)}")

    def unknown(self, path: Path, choices: Iterable[str]) -> None:
        hint = did_you_mean(path[-1], choices)
        line = toml_text.line_of(path, self._text)
        sentence = f"{_place(self.file, line)}: unknown setting {'.'.join(path)}"
        self._warnings.append(f"{sentence}; {hint}" if hint else sentence)


def _check_all(document: dict[str, object], found: _Findings, hosts: tuple[str, ...]) -> None:
    for section, content in document.items():
        if section == "budgets":
            _check_budgets(content, found)
        elif section in SCHEMA:
            _check_table(content, (section,), SCHEMA[section], found)
        elif section == "domains":
            _check_domains(content, found)
        elif section == "hosts":
            _check_hosts(content, found, hosts)
        else:
            found.unknown((section,), (*SCHEMA, "domains", "hosts"))


def _check_budgets(content: object, found: _Findings) -> None:
    """Limits in dollars for all, and below `projects` for single ones."""
    table = dict(_table(content, ("budgets",), found))
    projects = _table(table.pop("projects", {}), ("budgets", "projects"), found)
    _check_table(table, ("budgets",), SCHEMA["budgets"], found)
    of_project = {period: SCHEMA["budgets"][period] for period in PERIODS}
    for name, limits in projects.items():
        _check_table(limits, ("budgets", "projects", name), of_project, found)


def _check_domains(content: object, found: _Findings) -> None:
    for repository, domain in _table(content, ("domains",), found).items():
        _check_value(domain, ("domains", repository), _text, found)


def _check_hosts(content: object, found: _Findings, hosts: tuple[str, ...]) -> None:
    for host, keys in _table(content, ("hosts",), found).items():
        if host in hosts or not hosts:
            _check_table(keys, ("hosts", host), HOST_SCHEMA, found)
        else:
            found.unknown(("hosts", host), hosts)


def _check_table(
    content: object, path: Path, schema: dict[str, tuple[Callable[[object], object], object]], found: _Findings
) -> None:
    for key, value in _table(content, path, found).items():
        if key in schema:
            _check_value(value, (*path, key), schema[key][0], found)
        else:
            found.unknown((*path, key), schema)


def _check_value(value: object, path: Path, check: Callable[[object], object], found: _Findings) -> None:
    try:
        found.values[path] = check(value)
    except ValueError as error:
        raise found.refuse(path, str(error), value) from None


def _table(value: object, path: Path, found: _Findings) -> dict[str, object]:
    if not isinstance(value, dict):
        raise found.refuse(path, f"a section, [{'.'.join(path)}]", value)
    return value


def _read(file: str, must_exist: bool = False) -> str:
    """The file's text; a missing one is empty and costs one call."""
    try:
        with open(file, "rb") as stream:
            data = stream.read(FILE_LIMIT + 1)
    except FileNotFoundError:
        if must_exist:
            raise ConfigError(file, None, "no such file", "name an existing file, or leave --config away") from None
        return ""
    except (OSError, ValueError) as error:
        raise ConfigError(file, None, f"cannot be read: {_reason(error)}") from None
    if len(data) > FILE_LIMIT:
        raise ConfigError(file, None, "larger than 1 MiB", "is this the right file?")
    try:
        return data.decode("utf-8-sig")  # Windows editors put a mark in front
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(file, line, "not UTF-8", "save the file as UTF-8") from None


def _parse(text: str, file: str) -> dict[str, object]:
    try:
        return toml_text.parse(text)
    except ValueError as error:
        import re

        message = str(error)
        place = re.search(r"\s*\(at (?:line (\d+), column \d+|end of document)\)", message)
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        problem = message[: place.start()] if place else message
        raise ConfigError(file, line, f"not valid TOML: {problem}", "see docs/configuration.md for examples") from None
    except RecursionError:
        raise ConfigError(file, None, "not valid TOML: nested too deeply") from None


# --- matching --------------------------------------------------------------------------------------------------------


def _is_of_project(pattern: str, cwd: str | None, repository: str | None) -> bool:
    if pattern.startswith(("/", "~", "\\")) or pattern[1:2] == ":":
        return cwd is not None and _is_below(_slashes(os.path.expanduser(pattern)), _slashes(cwd))
    names = [repository] if repository else []
    if repository and "/" in repository:
        names.append(repository.partition("/")[2])
        names.append(repository.rpartition("/")[2])
    if cwd and "/" not in pattern:
        names.append(_slashes(cwd).rpartition("/")[2])
    return any(_matches(pattern, name) for name in names)


def _is_below(pattern: str, folder: str) -> bool:
    """Whether a folder, or one that it lies in, is what the pattern names."""
    if not _is_glob(pattern):
        return folder == pattern or folder.startswith(pattern.rstrip("/") + "/")
    from fnmatch import fnmatchcase

    parts = folder.split("/")
    return any(fnmatchcase("/".join(parts[:depth]) or "/", pattern) for depth in range(1, len(parts) + 1))


def _matches(pattern: str, name: str) -> bool:
    """Names of repositories do not differ by case alone."""
    pattern, name = pattern.lower().rstrip("/"), name.lower()
    if not _is_glob(pattern):
        return pattern == name
    from fnmatch import fnmatchcase

    return fnmatchcase(name, pattern)


def _is_glob(pattern: str) -> bool:
    return any(mark in pattern for mark in "*?[")


def _slashes(path: str) -> str:
    """A folder of any system, as a session names it, with forward slashes and without `.` and `..`."""
    import posixpath

    if path[1:2] == ":" or path.startswith("\\\\"):  # Windows: case does not count
        path = path.replace("\\", "/").lower()
    return posixpath.normpath(path) if path else path


# --- writing ---------------------------------------------------------------------------------------------------------


def register_root(root: str, file: str) -> bool:
    """Add an archive to `archive.registered` in the user's settings, keeping all else; False if it was there."""
    file = os.path.realpath(file)  # a link into someone's dotfiles stays a link
    text = _read(file)
    if root in _registered_in(_parse(text, file), file, text):
        return False
    changed = toml_text.with_item(text, "archive", "registered", root)
    try:
        data = (changed or "").encode("utf-8")
    except UnicodeEncodeError:
        raise Failure("usage", f"{root!r} cannot be written into a TOML file", "choose a name that is UTF-8") from None
    if not data:
        hint = f"add {toml_text.quoted(root)} to registered under [archive] by hand"
        line = toml_text.line_of(("archive",), text)
        raise ConfigError(file, line, "the archive cannot be registered without rewriting this", hint)
    places.make_private_dir(os.path.dirname(file))
    places.write_private(file, data)
    return True


def _registered_in(document: dict[str, object], file: str, text: str) -> list[str]:
    archive = document.get("archive", {})
    registered = archive.get("registered", []) if isinstance(archive, dict) else None
    if not isinstance(registered, list):
        line = toml_text.line_of(("archive", "registered"), text)
        raise ConfigError(file, line, "archive.registered must be a list of paths")
    return registered


# --- words -----------------------------------------------------------------------------------------------------------


def _place(file: str, line: int | None) -> str:
    return f"{file}:{line}" if line else file


def _shown(value: object) -> str:
    import json

    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
