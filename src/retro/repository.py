"""Git facts of a folder, read from its `.git` files: no process is started, and nothing that lies there is trusted."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

READ_LIMIT = 256 * 1024
"""Bytes read of any git file; what is longer is cut there."""

LOG_LIMIT = 64 * 1024
"""Bytes read of the end of a log."""

GIT_SECONDS = 5.0
"""How long git may take, where it is asked."""

# A repository's own settings may name programs: none of them is run.
_HARMLESS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false")

WORKTREES = (".claude/worktrees", ".worktrees")
"""Where worktrees lie below a repository's own folder."""

NAME_LIMIT = 300
DEPTH_LIMIT = 200


class Repository:
    """A git repository: its main folder, its remote as `host/owner/name`, and the branch checked out where asked.

    `folder` is where the asked one's checkout begins, which in a worktree is not the main folder. It tells
    nothing about which repository it is.
    """

    __slots__ = ("branch", "folder", "remote", "root")

    def __init__(
        self, root: str, remote: str | None = None, branch: str | None = None, folder: str | None = None
    ) -> None:
        self.root: Final = root
        self.remote: Final = remote
        self.branch: Final = branch
        self.folder: Final = folder or root

    def __repr__(self) -> str:
        return f"Repository({self.root!r}, {self.remote!r}, {self.branch!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Repository) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> tuple[str, str | None, str | None]:
        return self.root, self.remote, self.branch


def locate(cwd: str) -> Repository | None:
    """The repository that a folder lies in; None for none, and for everything broken. Never raises.

    Where the folder is gone, the nearest one above it that still exists tells. A worktree belongs to its main folder.
    """
    try:
        for folder in _upwards(cwd):
            git = _git_folder(folder)
            if git is not None:
                return _described(folder, git)
    except (OSError, ValueError, RecursionError):
        pass
    return None


def project_name(cwd: str | None, repository: Repository | None) -> str | None:
    """What people call the project: the remote's name, else the repository's folder, else the session's folder."""
    if repository is not None and repository.remote:
        return repository.remote.rpartition("/")[2]
    folder = repository.root if repository is not None else cwd
    if not folder:
        return None
    if folder[1:2] == ":" or folder.startswith("\\\\"):  # a Windows session read elsewhere
        folder = folder.replace("\\", "/")
    for name in WORKTREES:  # of a repository that is gone, or on another machine
        above, inside, _ = folder.partition(f"/{name}/")
        if inside and above:
            folder = above
            break
    return folder.rstrip("/").rpartition("/")[2] or folder


def commit_times(cwd: str) -> list[int] | None:
    """When commits were made in the repository of a folder, in seconds since 1970, by what git logs of its HEAD.

    None where there is no repository, or it keeps no such log. Never raises.
    """
    try:
        git = next(filter(None, map(_git_folder, _upwards(cwd))), None)
        log = _tail(os.path.join(git, "logs", "HEAD")) if git else None
    except (OSError, ValueError, RecursionError):
        return None
    return None if log is None else [moment for line in log.splitlines() if (moment := _committed(line)) is not None]


def asked_commit_times(cwd: str, since: int, until: int) -> list[int] | None:
    """The same from git itself, for all branches; None where it is missing, refuses, or takes longer than its limit."""
    import subprocess

    if not any(map(_git_folder, _upwards(cwd))) or not os.path.isdir(cwd):
        return None
    span = [f"--since=@{since}", f"--until=@{until}"]
    command = ["git", "-C", cwd, "--no-pager", *_HARMLESS, "log", "--all", "--no-show-signature", "--format=%ct", *span]
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(  # noqa: S603 - our own arguments, and a folder behind -C
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=GIT_SECONDS,
            check=True,
            env={**env, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return [int(word) for word in done.stdout.split() if word.isdigit()]


def _tail(path: str) -> str | None:
    """The end of a log, from the first whole line on."""
    text = _read(path, LOG_LIMIT, from_end=True)
    if text is None or len(text) < LOG_LIMIT:
        return text
    return text.partition("\n")[2]


def _committed(line: str) -> int | None:
    """When a line of the log was written, if it is about a commit."""
    who, _, what = line.partition("\t")
    words = who.split()
    if not what.startswith("commit") or len(words) < 4 or not words[-2].isdigit():
        return None
    return int(words[-2]) if len(words[-2]) < 12 else None


# --- folders ---------------------------------------------------------------------------------------------------------


def _upwards(cwd: str) -> Iterator[str]:
    """The folder and those above it. A network share is not visited: a session's text must not cause a login there."""
    if not os.path.isabs(cwd) or _is_share(cwd) or len(cwd) > 4096 or "\0" in cwd:
        return
    folder = os.path.normpath(cwd)
    for _ in range(DEPTH_LIMIT):
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _is_share(path: str) -> bool:
    return path[:2] in ("//", "\\\\", "/\\", "\\/")


def _git_folder(folder: str) -> str | None:
    """The git folder behind `.git`, which is a file in worktrees and submodules."""
    entry = os.path.join(folder, ".git")
    try:
        is_file = stat.S_ISREG(os.stat(entry).st_mode)
    except OSError:
        return None
    git = _linked(folder, entry) if is_file else entry
    return git if git and _line(os.path.join(git, "HEAD")) else None


def _linked(folder: str, file: str) -> str | None:
    keyword, _, path = (_line(file) or "").partition(":")
    return _joined(folder, path.strip()) if keyword == "gitdir" else None


def _described(folder: str, git: str) -> Repository:
    link = _line(os.path.join(git, "commondir"))
    common = (_joined(git, link) if link else None) or git
    is_worktree = common != git and os.path.basename(common) == ".git"
    root = os.path.dirname(common) if is_worktree else folder
    config = _read(os.path.join(common, "config")) or ""
    return Repository(root, _remote(config), _branch(_line(os.path.join(git, "HEAD"))), folder)


def _joined(folder: str, path: str) -> str | None:
    if not path or _is_share(path):
        return None
    return os.path.normpath(os.path.join(folder, path))


def _line(path: str) -> str | None:
    """The first line of a small file."""
    text = _read(path, 8192)
    return text.partition("\n")[0].strip() if text else None


def _read(path: str, limit: int = READ_LIMIT, *, from_end: bool = False) -> str | None:
    """The text of a plain file, bounded; None for pipes, devices and whatever cannot be read."""
    flags = os.O_RDONLY
    for name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY"):
        flags |= getattr(os, name, 0)  # non-blocking: opening a named pipe would wait for ever
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        if from_end and found.st_size > limit:
            os.lseek(descriptor, -limit, os.SEEK_END)
        return os.read(descriptor, limit).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(descriptor)


# --- what the files say ----------------------------------------------------------------------------------------------


def _branch(head: str | None) -> str | None:
    """The branch of a HEAD; None when it is detached."""
    prefix = "ref: refs/heads/"
    if head is None or not head.startswith(prefix):
        return None
    name = head[len(prefix) :]
    # `.invalid` stands in repositories that keep their refs in a table (reftable, git 2.45)
    return name if _is_name(name) and name != ".invalid" else None


def _remote(config: str) -> str | None:
    """The remote `origin`, else the first one that has a usable address."""
    first = None
    for name, url in _urls(config):
        remote = normalised(url)
        if remote and name == "origin":
            return remote
        first = first or remote
    return first


def _urls(config: str) -> Iterator[tuple[str, str]]:
    """The (remote, url) pairs of a git config file, in its order."""
    remote = None
    for line in config.replace("\\\n", "").splitlines():
        entry = line.strip()
        if entry.startswith("["):
            header, _, entry = entry[1:].partition("]")
            section, _, rest = header.partition('"')
            remote = rest.rstrip().removesuffix('"') if section.strip().lower() == "remote" else None
        key, equals, value = entry.partition("=")
        if remote is not None and equals and key.strip().lower() == "url":
            yield remote, _value(value)


def _value(text: str) -> str:
    """A config value without quotes and comment."""
    text = text.strip()
    if text.startswith('"'):
        return text[1:].partition('"')[0]
    for mark in (" #", " ;", "\t#", "\t;"):
        text = text.partition(mark)[0]
    return text.strip()


def normalised(url: str) -> str | None:
    """The address of a remote as `host/owner/name`: no scheme, user, password, port or `.git`; None for a path."""
    scheme, separator, rest = url.partition("://")
    if separator:
        if scheme.lower() not in ("https", "http", "ssh", "git", "git+ssh", "ssh+git", "ftp", "ftps"):
            return None
        host, _, path = rest.partition("/")
        host = host.rpartition("@")[2]
        host = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
    else:
        host, colon, path = url.partition(":")
        # `C:\work` and `./a:b` are paths, `git@host:owner/name` is not
        if not colon or len(host) < 2 or "/" in host or "\\" in host:
            return None
        host = host.rpartition("@")[2]
    if "@" in path:  # what stands before it is most likely a password with a slash or colon in it
        return None
    parts = [part for part in path.partition("?")[0].partition("#")[0].split("/") if part]
    name = "/".join([host.lower(), *parts]).removesuffix(".git").rstrip("/")
    return name if host and parts and not {".", ".."} & set(parts) and _is_name(name) else None


def _is_name(text: str) -> bool:
    return 0 < len(text) <= NAME_LIMIT and text.isprintable() and not any(c in text for c in " \\\ufffd")
