"""The data root, its layout, and ids made safe for the file system."""

from __future__ import annotations

import os
import sys

from retro.failure import WRONG_USAGE, Failure

TYPE_CHECKING = False  # `typing` and `dataclasses` cost more than all the rest of the light path's start
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Final, Protocol

    class RootSettings(Protocol):
        """What `find_root` needs to know of the user's settings."""

        @property
        def archive_root(self) -> str | None:
            """The data root that the user's config names."""

        @property
        def registered(self) -> Sequence[str]:
            """The roots that `retro init` made."""


ARCHIVE_NAME = "rollout-memory"
"""How an archive's folder is called where the user gave no other name."""

SAFE_LENGTH = 100

_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
_UPPER = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_HOST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
# Windows opens a device whatever stands behind the first dot: `con.events.jsonl.zst` is the console.
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})


class OutsideRoot(Failure):
    """A path that would lead out of the data root."""

    def __init__(self, path: str, root: str) -> None:
        super().__init__(
            "outside_root",
            f"{path!r} is not inside the archive {root!r}",
            "a link inside the archive leads out of it; remove the link, then try again",
        )


# --- ids -------------------------------------------------------------------------------------------------------------


def safe_name(identifier: str) -> str:
    """A session id as a file name: different ids give different names, on case-insensitive file systems too.

    Usual ids stand as they are; one with upper case becomes `lowercase~hash`, anything else `x~hash`.
    """
    if _allowed(identifier):
        return identifier
    if _UPPER.issuperset(c for c in identifier if c not in _LOWER) and _allowed(identifier.lower()):
        return f"{identifier.lower()}~{_hash(identifier, 4)}"
    return f"x~{_hash(identifier, 16)}"


def safe_host(host: str) -> str:
    """A host's name, checked before it becomes part of a path: `[a-z][a-z0-9_-]*`."""
    if host and host[0].isalpha() and len(host) <= SAFE_LENGTH and _HOST.issuperset(host) and host not in _DEVICES:
        return host
    raise Failure("unknown_host", f"{host!r} is not the name of a host", None, WRONG_USAGE)


def _allowed(identifier: str) -> bool:
    return (
        0 < len(identifier) <= SAFE_LENGTH
        and _LOWER.issuperset(identifier)
        and identifier[0] not in ".-"
        and identifier[-1] != "."
        and identifier.partition(".")[0] not in _DEVICES
    )


def _hash(identifier: str, size: int) -> str:
    import hashlib  # loads OpenSSL, and most ids need no hash

    return hashlib.blake2b(identifier.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


# --- layout ----------------------------------------------------------------------------------------------------------


class Places:
    """Where everything lies below one data root. All paths are absolute strings; nothing is created by asking."""

    __slots__ = ("_real", "_sound", "root")

    def __init__(self, root: str) -> None:
        self.root: Final = os.path.abspath(root)
        self._sound: set[str] = set()
        self._real = ""

    def __repr__(self) -> str:
        return f"Places({self.root!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Places) and other.root == self.root

    def __hash__(self) -> int:
        return hash(self.root)

    def raw(self, host: str, session_id: str) -> str:
        """The folder that keeps what the host wrote, byte for byte."""
        return self._of_session("raw", host, session_id, "")

    def normalized(self, host: str, session_id: str) -> str:
        """The file of a session's events."""
        return self._of_session("normalized", host, session_id, ".events.jsonl.zst")

    def rendered(self, host: str, session_id: str) -> str:
        """The file of a session as markdown."""
        return self._of_session("rendered", host, session_id, ".md")

    def digest(self, host: str, session_id: str) -> str:
        """The file of a session's permanent summary."""
        return self._of_session("digests", host, session_id, ".json")

    @property
    def index(self) -> str:
        """The SQLite index; derived, can be rebuilt."""
        return os.path.join(self.root, "index.sqlite")

    @property
    def vectors(self) -> str:
        """Vectors that a program of the user's gave turns; SQLite, not derived."""
        return os.path.join(self.root, "vectors.sqlite")

    @property
    def ledger(self) -> str:
        """The file of all usage records: append-only truth."""
        return os.path.join(self.root, "ledger", "usage.jsonl.zst")

    @property
    def signals(self) -> str:
        """The folder of all readings, and of what they add up to."""
        return os.path.join(self.root, "signals")

    @property
    def lock(self) -> str:
        """The file that one sweep at a time locks."""
        return os.path.join(self.root, ".lock")

    @property
    def inbox(self) -> str:
        """The folder of the light commands' append logs."""
        return os.path.join(self.root, "inbox")

    @property
    def state_log(self) -> str:
        """Pins, evictions, tombstones: append-only truth."""
        return os.path.join(self.root, "state.jsonl")

    def contains(self, path: str) -> bool:
        """Whether a path lies in the root once every link on its way is followed."""
        try:
            self._real = self._real or os.path.normcase(os.path.realpath(self.root))
            real, root = os.path.normcase(os.path.realpath(path)), self._real
        except (OSError, ValueError):  # a NUL, a name too long for the system
            return False
        return real == root or real.startswith(root.rstrip(os.sep) + os.sep)

    def checked(self, path: str) -> str:
        """The path itself, or `OutsideRoot`; to be asked before anything is written there."""
        if not self.contains(path):
            raise OutsideRoot(path, self.root)
        return path

    def checked_session(self, path: str) -> str:
        """The same for the many paths right below a few folders: each folder's own way is followed only once."""
        folder = os.path.dirname(path)
        if folder not in self._sound:
            self.checked(folder)
            self._sound.add(folder)
        if os.path.islink(path):
            self.checked(path)
        return path

    def _of_session(self, kind: str, host: str, session_id: str, suffix: str) -> str:
        return os.path.join(self.root, kind, safe_host(host), safe_name(session_id) + suffix)


# --- private files ---------------------------------------------------------------------------------------------------


def make_private_dir(path: str) -> None:
    """Make a folder, and the missing ones above it, for this user only; one that is there already is left alone."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    except FileNotFoundError:
        parent = os.path.dirname(path)
        if parent in ("", path):
            raise
        make_private_dir(parent)
        make_private_dir(path)
        return
    if os.name == "posix":
        os.chmod(path, 0o700)  # a umask such as 0o277 has taken bits away


def open_private(path: str, flags: int) -> int:
    """Open a file that only this user can read; a link in its place is refused. Gives the descriptor."""
    for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_BINARY"):
        flags |= getattr(os, name, 0)
    descriptor = os.open(path, flags, 0o600)
    if sys.platform != "win32" and flags & os.O_CREAT:
        try:
            if os.fstat(descriptor).st_mode & 0o777 != 0o600:
                os.fchmod(descriptor, 0o600)
        except BaseException:
            os.close(descriptor)
            raise
    return descriptor


def write_private(path: str, data: bytes, sync: bool = True) -> None:
    """Replace a file as a whole: readers see the old content or the new, also after a crash when `sync` is set."""
    folder, name = os.path.split(path)
    # A safe name never starts with a dot, so this can be nobody's file.
    temporary = os.path.join(folder, f".{name[:SAFE_LENGTH]}.{os.urandom(6).hex()}.tmp")
    descriptor = open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with open(descriptor, "wb", buffering=0) as file:
            _write_all(file.fileno(), data)
            if sync:
                os.fsync(file.fileno())
        replace_file(temporary, path)
    except BaseException:
        _remove(temporary)
        raise
    if sync:
        sync_dir(folder or ".")


def sync_file(path: str) -> None:
    """Make durable what was written into a file, by whatever process."""
    # Windows syncs only what may be written.
    flags = os.O_RDONLY if os.name == "posix" else os.O_RDWR | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_dir(path: str) -> None:
    """Make the names in a folder durable; does nothing on Windows, where a folder cannot be synced."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def replace_file(temporary: str, path: str) -> None:
    """`os.replace`, with patience on Windows, where a file that a reader or a virus scanner holds open stays put."""
    for pause in (0.01, 0.03, 0.1, 0.3) if os.name == "nt" else ():
        try:
            os.replace(temporary, path)
            return
        except PermissionError:
            import time

            time.sleep(pause)
    os.replace(temporary, path)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


# --- which root ------------------------------------------------------------------------------------------------------


class RootChoice:
    """The data root that counts, and why: `option`, `env:RETRO_ROOT`, `registered`, `config` or `default`."""

    __slots__ = ("path", "reason")

    def __init__(self, path: str, reason: str) -> None:
        self.path: Final = path
        self.reason: Final = reason

    def __repr__(self) -> str:
        return f"RootChoice({self.path!r}, {self.reason!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RootChoice) and (other.path, other.reason) == (self.path, self.reason)

    def __hash__(self) -> int:
        return hash((self.path, self.reason))


def find_root(explicit: str | None, env: Mapping[str, str], settings: RootSettings) -> RootChoice:
    """The data root: `--root`, `RETRO_ROOT`, a registered one in this folder, the config's, the platform's data folder.

    A `./rollout-memory` that `retro init` did not register is never looked at: it may have come with a clone.
    """
    if explicit is not None:
        if not explicit:
            raise Failure("usage", "--root needs a folder", "retro --root ~/rollout-memory …", WRONG_USAGE)
        return RootChoice(_absolute(explicit), "option")
    if env.get("RETRO_ROOT"):
        return RootChoice(_absolute(env["RETRO_ROOT"]), "env:RETRO_ROOT")
    here = _registered_here(settings.registered)
    if here is not None:
        return RootChoice(here, "registered")
    if settings.archive_root:
        return RootChoice(_absolute(settings.archive_root), "config")
    return RootChoice(os.path.join(data_folder(env), ARCHIVE_NAME), "default")


def _registered_here(registered: Iterable[str]) -> str | None:
    known = {os.path.normcase(path) for path in registered}
    if not known:
        return None
    try:
        candidate = os.path.join(os.path.realpath(os.getcwd()), ARCHIVE_NAME)
    except OSError:  # the current folder was deleted
        return None
    found = os.path.normcase(candidate) in known and os.path.isdir(candidate) and not os.path.islink(candidate)
    return candidate if found else None


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def config_folder(env: Mapping[str, str]) -> str:
    """The user's config folder of retro: what platformdirs says, imported only on Windows."""
    return _user_folder(env, "XDG_CONFIG_HOME", "~/.config") or _platformdirs("user_config_dir")


def data_folder(env: Mapping[str, str]) -> str:
    """The user's data folder of retro: what platformdirs says, imported only on Windows."""
    return _user_folder(env, "XDG_DATA_HOME", "~/.local/share") or _platformdirs("user_data_dir")


def _user_folder(env: Mapping[str, str], variable: str, linux: str) -> str | None:
    if sys.platform not in ("linux", "darwin"):
        return None
    usual = linux if sys.platform == "linux" else "~/Library/Application Support"
    named = env.get(variable, "")
    # The XDG specification has relative paths ignored; here one would also mean a setting read from the current folder.
    base = named if os.path.isabs(named) else os.path.expanduser(usual)
    return os.path.join(base, "retro") if os.path.isabs(base) else None


def _platformdirs(function: str) -> str:
    import platformdirs

    return str(getattr(platformdirs, function)("retro", appauthor=False))


# --- a new root ------------------------------------------------------------------------------------------------------


def init_root(path: str) -> bool:
    """Make an archive's folder, private and ignored by git; says whether it was new. Safe to call again.

    A folder that holds something else is refused, so that nobody's home gets a `.gitignore` of `*`.
    """
    new = not os.path.lexists(path)
    if os.path.islink(path):
        raise Failure("not_an_archive", f"{path} is a link", "name the folder that it leads to")
    if not new and not os.path.isdir(path):
        raise Failure("not_an_archive", f"{path} is not a folder", "name another place for the archive")
    if not new and not _is_archive(path):
        raise Failure("not_an_archive", f"{path} is not empty and no archive", "name a new or an empty folder")
    make_private_dir(path)
    if os.name == "posix":
        os.chmod(path, 0o700)
    ignore = os.path.join(path, ".gitignore")
    if not os.path.lexists(ignore):
        write_private(ignore, b"*\n")
    return new


def _is_archive(path: str) -> bool:
    # Half a `.gitignore` is what a process leaves that was killed just here.
    names = {name for name in os.listdir(path) if not (name.startswith("..gitignore.") and name.endswith(".tmp"))}
    return (
        not names
        or bool(names & {"raw", "index.sqlite", "state.jsonl", "digests", "ledger"})
        or names <= {".gitignore", ".lock", ".lock.next", "inbox"}
    )
