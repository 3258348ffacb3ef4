"""`retro digest`: the small permanent summary of one session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from retro.cli import moments, output, sessions
from retro.cli.output import Column, Styled
from retro.digests import digest as files
from retro.digests.digest import Digest, ProblemLine
from retro.failure import Failure

if TYPE_CHECKING:
    import argparse

    from retro.cli.interface import Context, Parser
    from retro.index.queries import Detail

_LINES = ("files", "commands", "problems", "corrections", "turns")


def add_arguments(parser: Parser) -> None:
    """Declare which session."""
    sessions.add_session(parser)


def run(args: argparse.Namespace, context: Context) -> int:
    """Show it."""
    digest = of_session(sessions.detail(args, context), context)
    if context.json:
        output.print_json(opened(digest))
        return 0
    for part in (_head, _texts, _files, _commands, _problems, _corrections, _turns):
        part(digest)
    return 0


def of_session(found: Detail, context: Context) -> Digest:
    """The digest of a session, as it lies on the disk."""
    path = context.places.checked(context.places.digest(found.session.host, found.session.session_id))
    try:
        return files.read(path)
    except FileNotFoundError:
        raise Failure("not_found", "this session's digest is not written yet", "retro sweep writes it") from None
    except ValueError as error:
        hint = "retro verify --repair writes it again"
        raise Failure("damaged", f"the archive is damaged: {path}: {error}", hint) from None


def opened(digest: Digest) -> dict[str, object]:
    """A digest for JSON: its lines as objects, with the names of what stands in them."""
    content: dict[str, object] = msgspec.to_builtins(digest)
    for name in _LINES:
        content[name] = [msgspec.structs.asdict(line) for line in getattr(digest, name)]
    return content


# --- as text ---------------------------------------------------------------------------------------------------------


def _head(digest: Digest) -> None:
    output.say(digest.title or "(untitled)", "bold")
    counts, spent = digest.counts, digest.spent
    branch = f"branch {digest.branch}" if digest.branch else None
    began, ended = moments.local(digest.started), moments.local(digest.ended)
    numbers = [
        (counts.turns, "turn"),
        (counts.events, "event"),
        (counts.commands, "command"),
        (counts.edits, "edit"),
        (counts.errors, "error"),
        (counts.agents, "sub-agent"),
        (counts.corrections, "correction"),
    ]
    facts = [
        ("session", digest.session_id + (f", continues {digest.parent}" if digest.parent else "")),
        ("host", ", ".join(filter(None, (" ".join([digest.host, *digest.host_versions[-1:]]), *digest.models)))),
        ("project", ", ".join(filter(None, (digest.project, digest.repository, branch, digest.domain)))),
        ("time", f"{began} to {ended[11:] if began[:10] == ended[:10] else ended}" if began else ""),
        ("did", ", ".join(_many(number, noun) for number, noun in numbers if number)),
        ("tests", _tests(digest)),
        ("cost", _cost(digest) if spent.requests else ""),
        ("outcome", _outcome(digest)),
        ("bytes", _bytes(digest)),
    ]
    for name, value in facts:
        if value:
            output.say(f"{name:9}{value}")


def _tests(digest: Digest) -> str:
    tests = digest.tests
    if tests is None:
        return ""
    ended = {True: ", the last one went well", False: ", the last one failed", None: ""}[tests.ended_well]
    return f"{_many(tests.runs, 'run')}, {output.count(tests.failed)} failed{ended}"


def _cost(digest: Digest) -> str:
    spent = digest.spent
    tokens = spent.input_tokens + spent.output_tokens + spent.cache_read_tokens
    tokens += spent.cache_write_5m_tokens + spent.cache_write_1h_tokens
    words = f"{_many(spent.requests, 'request')}, {output.count(tokens)} tokens"
    unpriced = f" ({_many(spent.unpriced_requests, 'request')} without a price)" if spent.unpriced_requests else ""
    if spent.unpriced_requests == spent.requests:
        return f"{words}, without a price"
    return f"${spent.cost_microdollars / 1e6:,.2f}{unpriced}, {words}"


def _outcome(digest: Digest) -> str:
    outcome = digest.outcome
    if outcome is None:
        return ""
    sure = f" ({outcome.probability:.0%})" if outcome.probability is not None else ""
    return f"{outcome.said}{sure}" + (f": {'; '.join(outcome.reasons)}" if outcome.reasons else "")


def _bytes(digest: Digest) -> str:
    found = digest.bytes
    parts = [("mapped", found.mapped), ("bookkeeping", found.bookkeeping), ("unknown", found.unknown)]
    parts += [("malformed", found.malformed), ("torn", found.torn_tail)]
    return f"{output.size(found.size)}: " + ", ".join(f"{output.size(size)} {name}" for name, size in parts if size)


def _texts(digest: Digest) -> None:
    for title, text in (("Goal", digest.goal), ("Said last", digest.result)):
        if text:
            _title(title)
            output.say(text)


def _files(digest: Digest) -> None:
    if digest.files:
        _title("Files", len(digest.files), digest.counts.files)
        output.table(
            ([one.path, output.count(one.edits)] for one in digest.files), [Column("file"), Column("edits", right=True)]
        )


def _commands(digest: Digest) -> None:
    if digest.commands:
        _title("Commands")
        columns = [Column("command", shrink=True), Column(""), Column("runs", right=True), Column("failed", right=True)]
        output.table(
            (
                [
                    one.command,
                    one.kind,
                    output.count(one.runs),
                    Styled(output.count(one.failed), "red") if one.failed else "",
                ]
                for one in digest.commands
            ),
            columns,
        )
    if digest.commits:
        _title("Commits", len(digest.commits), digest.counts.commits)
        for subject in digest.commits:
            output.say(subject or "(no message)")


def _problems(digest: Digest) -> None:
    if digest.problems:
        _title("Errors", len(digest.problems), digest.counts.problems)
        columns = [Column("error", shrink=True), Column("in", shrink=True), Column("times", right=True)]
        output.table((_problem_row(one) for one in digest.problems), [*columns, Column("resolved by", shrink=True)])


def _problem_row(one: ProblemLine) -> list[str | Styled]:
    resolved = "" if one.resolved is None else ", ".join(one.resolved) or "trying again"
    return [one.signature, one.where, output.count(one.times), Styled(resolved, "green")]


def _corrections(digest: Digest) -> None:
    if digest.corrections:
        _title("Corrections", len(digest.corrections), digest.counts.corrections)
        output.table(
            ([str(one.turn), one.text] for one in digest.corrections),
            [Column("turn", right=True), Column("what was said", shrink=True)],
        )


def _turns(digest: Digest) -> None:
    if not digest.turns:
        return
    _title("Turns", len(digest.turns), digest.counts.turns)
    columns = [Column("", right=True), Column("prompt", shrink=True), Column("tools", right=True)]
    columns += [Column("edits", right=True), Column("errors", right=True), Column("after", right=True)]
    output.table(
        (
            [
                str(one.turn),
                one.prompt or "(no text)",
                output.count(one.actions) if one.actions else "",
                output.count(one.edits) if one.edits else "",
                Styled(output.count(one.errors), "red") if one.errors else "",
                output.duration(one.after) if one.after >= 0 else "",
            ]
            for one in digest.turns
        ),
        columns,
    )


def _title(text: str, shown: int = 0, there: int = 0) -> None:
    output.say()
    output.say(f"{text} ({output.count(shown)} of {output.count(there)})" if there > shown else text, "bold")


def _many(number: int, noun: str) -> str:
    return f"{output.count(number)} {noun}" + ("" if number == 1 else "s")
