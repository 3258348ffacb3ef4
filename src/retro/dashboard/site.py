"""The site on the disk: pages as they come with the package, data beside them; only what changed is written again."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from importlib import resources
from typing import Final, NamedTuple

import apsw
import msgspec

from retro.config import Settings
from retro.dashboard import bundles, data, overview
from retro.dashboard.bundles import Laid
from retro.dashboard.contents import Contents
from retro.dashboard.overview import BUNDLE, Choice, Row
from retro.dashboard.packing import as_script, encoded, packed
from retro.dashboard.session_page import Wanted
from retro.failure import Failure
from retro.index.database import rows
from retro.places import Places, make_private_dir, safe_host, write_private

MANIFEST: Final = "manifest.json"
RECENT: Final = "recent"
EVERY: Final = "all"
NONE: Final = "none"
TRANSCRIPTS: Final = (RECENT, EVERY, NONE)
RECENT_SESSIONS: Final = 300
RECENT_BYTES: Final = 8 * 1024 * 1024
"""Of which sessions the transcripts are built: the newest, until so many bytes of archived events are read."""

_encode = msgspec.json.Encoder().encode


class Built(msgspec.Struct):
    """What a build did."""

    out: str
    page: str
    sessions: int
    written: int
    """Session pages that were made anew."""
    transcripts: int
    """Transcripts that were."""
    removed: int
    bytes: int


class Made(msgspec.Struct):
    """What a session's files were made of, to see whether they are still true."""

    stamp: str
    parts: int = 0
    """Files of its transcript."""


class Bundled(msgspec.Struct):
    """What a bundle was made of."""

    mark: str = ""
    """Tells whether anything of it changed."""
    sessions: dict[str, Made] = {}
    """By the names of their files."""


class Manifest(msgspec.Struct):
    """What a build left, for the next one."""

    version: int = data.DATA_VERSION
    choice: str = ""
    bundles: dict[int, Bundled] = {}
    shared: dict[str, str] = {}
    """Files that are of no single session, each with what tells whether it is still true."""


class Order(NamedTuple):
    """What is to be built, and where."""

    out: str
    choice: Choice
    transcripts: str = RECENT


def build(
    connection: apsw.Connection, places: Places, settings: Settings, env: Mapping[str, str], order: Order
) -> Built:
    """Build the site, or bring it up to date."""
    _prepare(order.out)
    manifest = _manifest(order)
    with _uncollected():
        found = overview.session_rows(connection, order.choice)
        wanted_parts = _with_transcript(connection, found, order)
        builder = _Builder(connection, Contents(connection, places, order.choice), order, manifest)
        for number, some in _bundled(found, order.choice).items():
            builder.bundle(number, some, wanted_parts)
        removed = builder.remove_gone()
        builder.overview(found, settings, env)
    _write(order.out, MANIFEST, _encode(manifest))
    page = os.path.join(order.out, "index.html")
    size = sum(os.path.getsize(os.path.join(parent, name)) for parent, _, names in os.walk(order.out) for name in names)
    return Built(order.out, page, len(found), builder.written, builder.transcripts, removed, size)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without looking for garbage: what pages are made of holds no cycle, and there is very much of it."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def pages() -> Iterator[tuple[str, bytes]]:
    """The files that come with the package: their paths within the site, and what they hold."""
    yield from _below(resources.files("retro.dashboard").joinpath("pages"), "")


def _below(folder: resources.abc.Traversable, path: str) -> Iterator[tuple[str, bytes]]:  # type: ignore[name-defined]
    for entry in sorted(folder.iterdir(), key=lambda one: str(one.name)):
        name = f"{path}{entry.name}"
        if entry.is_dir():
            yield from _below(entry, f"{name}/")
        else:
            yield name, entry.read_bytes()


def _prepare(out: str) -> None:
    """The folder with the pages; a folder that holds something else is refused."""
    if os.path.isdir(out) and os.listdir(out) and not os.path.exists(os.path.join(out, MANIFEST)):
        raise Failure("not_a_dashboard", f"{out} holds something else", "name a new or an empty folder with --out")
    make_private_dir(out)
    if not os.path.exists(os.path.join(out, MANIFEST)):
        _write(out, MANIFEST, _encode(Manifest()))  # from here on it is known as ours, whatever happens
    for name, content in pages():
        _write(out, name, content)


def _manifest(order: Order) -> Manifest:
    """What the last build left, where it was one of the same choice; else that nothing of it is true any more."""
    choice = repr((order.choice.zone.name, *order.choice[1:]))
    try:
        with open(os.path.join(order.out, MANIFEST), "rb") as file:
            manifest = msgspec.json.decode(file.read(), type=Manifest)
    except (FileNotFoundError, msgspec.MsgspecError):
        return Manifest(choice=choice, bundles={}, shared={})
    if manifest.version != data.DATA_VERSION or manifest.choice != choice:
        for some in manifest.bundles.values():
            some.mark = ""
            for made in some.sessions.values():
                made.stamp = ""
        manifest.version, manifest.choice = data.DATA_VERSION, choice
    return manifest


def _bundled(found: list[Row], choice: Choice) -> dict[int, dict[str, Row]]:
    """Sessions by their bundles, and in those by the names of their files."""
    some: dict[int, dict[str, Row]] = {}
    for row in sorted(found, key=lambda row: row.number):
        name = f"{safe_host(row.host)}/{overview.file_name(row.session_id, choice)}"
        some.setdefault(row.number // BUNDLE, {})[name] = row
    return some


def _with_transcript(connection: apsw.Connection, found: list[Row], order: Order) -> set[int]:
    """The sessions whose transcripts are to be there."""
    if order.transcripts == NONE or order.choice.strict:
        return set()
    sizes = dict(rows(connection, "SELECT id, normalized_bytes FROM session"))
    if order.transcripts == EVERY:
        return {row.number for row in found if sizes[row.number]}
    chosen, size = set[int](), 0
    for row in found[:RECENT_SESSIONS]:
        if size + sizes[row.number] > RECENT_BYTES and chosen:
            break
        if sizes[row.number]:
            chosen.add(row.number)
            size += sizes[row.number]
    return chosen


class _Builder:
    """Writes what changed since the last build."""

    def __init__(self, connection: apsw.Connection, contents: Contents, order: Order, manifest: Manifest) -> None:
        self._contents, self._order, self._manifest = contents, order, manifest
        self._before = dict(manifest.bundles)
        self._stamps = _stamps(connection)
        self._seen: set[int] = set()
        self._names: set[str] = set()
        self.written = self.transcripts = 0

    def bundle(self, number: int, found: Mapping[str, Row], with_transcript: set[int]) -> None:
        """Bring the files of some sessions up to date."""
        self._seen.add(number)
        self._names.update(found)
        before = self._manifest.bundles.get(number) or Bundled()
        told = {name: self._told(row) for name, row in found.items()}
        mark = _hash((told, [row.number in with_transcript for row in found.values()]))
        if mark == before.mark:
            return
        after: dict[str, Made] = {}
        stamps = {name: _hash(one) for name, one in told.items()}
        for name, row in found.items():
            made = before.sessions.get(name)
            if made is not None and made.stamp == stamps[name] and (made.parts or row.number not in with_transcript):
                after[name] = made
        if len(after) == len(found) == len(before.sessions):
            self._manifest.bundles[number] = Bundled(mark, after)
            return
        kept = self._kept(number) if after else Laid()
        if kept is None or not after.keys() <= kept.sessions.keys():
            kept, after = Laid(), {}
        wanted: dict[str, Wanted] = {}
        for name, row in found.items():
            if name not in after:
                parts = self._transcript(name, row, before.sessions.get(name), row.number in with_transcript)
                wanted[name] = Wanted(row, parts)
                after[name] = Made(stamps[name], parts)
        content = bundles.renew(kept, wanted, found, self._contents.sessions)
        for path, part in zip(_bundle_names(number), bundles.scripts(content), strict=True):
            self._put(path, part)
        self._manifest.bundles[number] = Bundled(mark, after)
        self.written += len(wanted)

    def _kept(self, number: int) -> Laid | None:
        """A bundle as it lies there."""
        try:
            files = [_read(self._order.out, _data_path(name)) for name in _bundle_names(number)]
        except OSError:
            return None
        return bundles.laid(*files)

    def _transcript(self, name: str, row: Row, made: Made | None, wanted: bool) -> int:
        """Write a session's transcript, where it is wanted; gives of how many files it is."""
        parts = self._contents.transcript(row.host, row.session_id) if wanted else []
        for part in parts:
            self._put(f"transcript/{name}/{part.part}", part)
        for left in range(len(parts), made.parts if made else 0):
            _remove(self._order.out, _data_path(f"transcript/{name}/{left}"))
        self.transcripts += bool(parts)
        return len(parts)

    def _told(self, row: Row) -> tuple[object, ...]:
        """What tells whether a session's page is as it was."""
        return row, self._stamps[row.number], *self._contents.sessions.beside(row)

    def remove_gone(self) -> int:
        """Take away the files of sessions that are no longer shown, and say how many those were."""
        before = {name: made for some in self._before.values() for name, made in some.sessions.items()}
        gone = {name: made for name, made in before.items() if name not in self._names}
        for number in set(self._manifest.bundles) - self._seen:
            del self._manifest.bundles[number]
            for path in _bundle_names(number):
                _remove(self._order.out, _data_path(path))
        for name, made in gone.items():
            for part in range(made.parts):
                _remove(self._order.out, _data_path(f"transcript/{name}/{part}"))
            if made.parts:
                os.rmdir(os.path.join(self._order.out, "data", "transcript", *name.split("/")))
        return len(gone)

    def overview(self, found: list[Row], settings: Settings, env: Mapping[str, str]) -> None:
        """Write the first screen's data, and the further sessions of its table."""
        shown = self._contents.overview(found, settings, env)
        before, self._manifest.shared = self._manifest.shared, {}
        for name, content in shown.items():
            said = encoded(content)
            mark = self._manifest.shared[name] = blake2b(said, digest_size=9).hexdigest()
            path = _data_path(name)
            if before.get(name) != mark or not os.path.exists(os.path.join(self._order.out, *path.split("/"))):
                _write(self._order.out, path, packed(name, said))
        for name in set(before) - set(shown):
            _remove(self._order.out, _data_path(name))

    def _put(self, name: str, content: msgspec.Struct) -> None:
        _write(self._order.out, _data_path(name), as_script(name, content))


def _stamps(connection: apsw.Connection) -> dict[int, object]:
    """What the index says of a session outside of its row: what it was made by, what it spent, its readings."""
    spent = (
        "SELECT host, session_id, total(requests), total(cost), total(embedded), total(output_tokens) FROM owner"
        " JOIN session_total ON whole = 1 AND owner = owner.id GROUP BY owner"
    )
    amounts = {(host, session_id): rest for host, session_id, *rest in rows(connection, spent)}
    read = "SELECT session, total(value), count(value), total(confidence) FROM reading GROUP BY session"
    readings = {number: rest for number, *rest in rows(connection, read)}
    query = (
        "SELECT id, host, session_id, captured, normalized_bytes, raw_bytes, normaliser, rules, signals, parent,"
        " repository, cwd FROM session"
    )
    return {
        number: (rest, amounts.get((host, session_id)), readings.get(number))
        for number, host, session_id, *rest in rows(connection, query)
    }


def _hash(told: object) -> str:
    return blake2b(encoded(told), digest_size=9).hexdigest()


def _bundle_names(number: int) -> tuple[str, str]:
    return f"session/{number}", f"talk/{number}"


def _data_path(name: str) -> str:
    return f"data/{name}.js"


def _read(out: str, name: str) -> bytes:
    with open(os.path.join(out, *name.split("/")), "rb") as file:
        return file.read()


def _write(out: str, name: str, content: bytes) -> None:
    """Write a file of the site, unless it says that already."""
    path = os.path.join(out, *name.split("/"))
    try:
        if os.path.getsize(path) == len(content) and _read(out, name) == content:
            return
    except OSError:
        pass
    try:
        write_private(path, content, sync=False)
    except FileNotFoundError:
        make_private_dir(os.path.dirname(path))
        write_private(path, content, sync=False)


def _remove(out: str, name: str) -> None:
    try:
        os.unlink(os.path.join(out, *name.split("/")))
    except FileNotFoundError:
        pass
