"""`retro memory`: what is kept for later sessions: looked at, judged, written, found."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from retro.cli import output, sessions
from retro.cli.output import Column, Styled
from retro.cli.remembering import bring_up_to_date, by_meaning, learned, writing
from retro.failure import WRONG_USAGE, Failure
from retro.memory import authored, folding, learning, retrieval, skills, staleness, store, trust
from retro.memory.item import Change, Item, Kept, What
from retro.mining.base import Scope

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    import apsw

    from retro.cli.interface import Context, Parser

LIMIT = 30
LEVELS = ("repository", "user", "global")


def add_arguments(parser: Parser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    for name, (line, declare, _) in VERBS.items():
        verb = verbs.add_parser(name, help=line, description=f"{line[0].upper()}{line[1:]}.")
        declare(verb)


def run(args: argparse.Namespace, context: Context) -> int:
    """Do what the verb says."""
    if args.verb is None:
        raise Failure("usage", "what of memory?", "retro memory --help", WRONG_USAGE)
    return VERBS[args.verb][2](args, context)


# --- what the verbs take ---------------------------------------------------------------------------------------------


def _nothing(parser: argparse.ArgumentParser) -> None:
    pass


def _an_id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the beginning of a memory's id")


def _an_id_and_why(parser: argparse.ArgumentParser) -> None:
    _an_id(parser)
    parser.add_argument("--note", metavar="TEXT", help="why")


def _of_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--status", metavar="STATUS", help="candidate, accepted, needs_review, rejected or archived")
    parser.add_argument("--kind", metavar="KIND", help="of this kind")
    parser.add_argument("--scope", metavar="KEY", help="of the repository whose key ends so")
    parser.add_argument("--limit", metavar="N", type=int, help=f"the first N ({LIMIT})")


def _of_edit(parser: argparse.ArgumentParser) -> None:
    _an_id(parser)
    parser.add_argument("--text", metavar="TEXT", help="what it says")
    parser.add_argument("--when", metavar="TEXT", help="when to use it")
    parser.add_argument("--unless", metavar="TEXT", help="when not to use it")
    parser.add_argument("--scope", metavar="LEVEL", choices=LEVELS, help="repository, user or global")


def _of_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="the folder with the markdown files")
    parser.add_argument("--scope", metavar="LEVEL", choices=LEVELS, default="repository", help="(repository)")
    parser.add_argument("--cwd", metavar="DIR", help="the repository that they are about (this folder's)")


def _of_export(parser: argparse.ArgumentParser) -> None:
    _an_id(parser)
    parser.add_argument("--to", metavar="DIR", default=".", help="the folder for the skill's own (this one)")


def _of_retrieve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--query", metavar="TEXT", required=True, help="the question or prompt")
    parser.add_argument("--cwd", metavar="DIR", help="whose memories (this folder's)")
    parser.add_argument("--accepted-only", action="store_true", help="only what was accepted")
    parser.add_argument("--explain", action="store_true", help="with the parts of each score")
    parser.add_argument("--keywords", action="store_true", help="go by words alone, where the semantic extra is there")
    parser.add_argument("--limit", metavar="N", type=int, default=5, help="(5)")


def _of_weave(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--query", metavar="TEXT", help="the prompt; else the agent's JSON on stdin says it")
    parser.add_argument("--cwd", metavar="DIR", help="whose memories (this folder's)")
    parser.add_argument("--budget", metavar="TOKENS", help="(400, at most 1000)")
    parser.add_argument("--session", metavar="ID", help="nothing is given to a session twice")
    parser.add_argument("--host", metavar="HOST", help="the agent")
    parser.add_argument("--accepted-only", action="store_true", help="only what was accepted")
    parser.add_argument("--hook", action="store_true", help="answer with the JSON that agents expect of a hook")


def _of_utility(parser: argparse.ArgumentParser) -> None:
    _an_id(parser)
    parser.add_argument("--reward", metavar="X", type=float, required=True, help="from 0, of no use, to 1")
    parser.add_argument("--note", metavar="TEXT", help="why")


# --- verbs -----------------------------------------------------------------------------------------------------------


def _init(args: argparse.Namespace, context: Context) -> int:
    done = learned(context)
    if context.json:
        output.print_json(done)
    else:
        output.say(f"{output.count(done.memories)} memories, from {output.count(done.traced)} sessions read just now")
    return 0


def _reindex(args: argparse.Namespace, context: Context) -> int:
    with writing(context) as connection:
        learning.intake(context.places)
        found, lines = folding.fold(connection, context.places)
        learning.note_folded(connection, context.places)
    for torn in lines.torn:
        output.warn(f"memories/{torn} cannot be read, and is left out")
    if context.json:
        output.print_json({"memories": len(found), "torn": lines.torn})
    else:
        output.say(f"{output.count(len(found))} memories")
    return 0


def _doctor(args: argparse.Namespace, context: Context) -> int:
    found, lines = folding.kept(context.places)
    review = [one for one in found if one.findings]
    links = {name.lower() for one in found for name in _names(one.item)}
    broken = sorted((one.item.id, link) for one in found for link in one.item.links if link.lower() not in links)
    known = _stale(context)
    stale = [(one.item.id, known[one.item.id]) for one in found if one.item.id in known]
    if context.json:
        rows = [{"id": one.item.id, "findings": one.findings} for one in review]
        output.print_json(
            {"memories": len(found), "torn": lines.torn, "needs_review": rows, "broken_links": broken, "stale": stale}
        )
        return 0
    output.say(f"{output.count(len(found))} memories")
    for torn in lines.torn:
        output.say(f"  memories/{torn} cannot be read; the line is left out")
    for one in review:
        output.say(f"  {one.item.id} is not handed out: {'; '.join(one.findings)}")
    for name, link in broken:
        output.say(f"  {name} links to [[{link}]], which is nowhere")
    for name, why in stale:
        output.say(f"  {name}: {why}")
    return 0


def _stale(context: Context) -> dict[str, str]:
    """What was noted of files that have moved, by memory."""
    with sessions.reading(context) as index:
        return staleness.all_stale(index) if index is not None else {}


def _names(item: Item) -> Iterator[str]:
    yield item.id
    if item.title:
        yield item.title
    if item.path:
        yield os.path.basename(item.path).removesuffix(".md")


def _list(args: argparse.Namespace, context: Context) -> int:
    bring_up_to_date(context)
    found = [
        one
        for one in folding.kept(context.places)[0]
        if (args.status is None or one.status == args.status)
        and (args.kind is None or one.item.kind == args.kind)
        and (args.scope is None or (one.item.scope.key or "").endswith(args.scope))
    ]
    found.sort(key=lambda one: (one.status != "accepted", -folding.quality(one.item), one.item.id))
    if context.json:
        output.print_json({"memories": found[: args.limit] if args.limit is not None else found})
        return 0
    limit = LIMIT if args.limit is None else args.limit
    columns = [Column("id"), Column("status"), Column("kind"), Column("uses", right=True), Column("says", shrink=True)]
    rows = [
        [Styled(one.item.id, "cyan"), one.status, one.item.kind, str(one.standing.uses), one.item.text]
        for one in found[:limit]
    ]
    if rows:
        output.table(rows, columns)
    else:
        output.say("Nothing is remembered yet.")
    if len(found) > limit:
        output.notice(f"{limit} of {len(found)}; --limit shows more")
    return 0


def _one(args: argparse.Namespace, context: Context) -> Kept:
    """The memory that is meant; before anything is written, an unknown one is refused."""
    found = {one.item.id: one for one in folding.kept(context.places)[0]}
    return found[store.found(found, args.id)]


def _show(args: argparse.Namespace, context: Context) -> int:
    one = _one(args, context)
    why = _stale(context).get(one.item.id)
    if context.json:
        output.print_json({**msgspec.to_builtins(one), "stale": why})
        return 0
    item, standing = one.item, one.standing
    output.say(item.text, "bold")
    where = item.scope.key if item.scope.level == "repository" else item.scope.level
    output.say(f"{item.id}  {one.status}  {item.kind}  {where}  version {item.version}", "dim")
    output.say(f"Use: {item.when_to_use}\nDo not use: {item.do_not_use_when}\nWhy: {item.reason}")
    for number, step in enumerate(item.steps, 1):
        output.say(f"  {number}. {step}")
    output.say(
        f"confidence {item.confidence:.2f}, given {standing.shown} times, used {standing.uses}, worth {standing.q:.2f}"
    )
    for problem in [*one.findings, *([why] if why else [])]:
        output.say(f"  {problem}", "yellow")
    for ref in item.evidence_refs[:12]:
        quote = f"  {ref.quote.splitlines()[0]}" if ref.quote else ""
        output.say(f"  {ref.host} {ref.session_id[:8]} {ref.event_id[:13]}{quote}", "dim")
    return 0


def _decide(what: What) -> Callable[[argparse.Namespace, Context], int]:
    def decide(args: argparse.Namespace, context: Context) -> int:
        one = _one(args, context)
        if what == "accepted" and one.findings:
            problems = "; ".join(one.findings)
            raise Failure(
                "needs_review", f"{one.item.id} cannot be accepted: {problems}", "retro memory edit changes it"
            )
        with writing(context) as connection:
            if what == "accepted":
                roots = staleness.roots(connection)
                files, commits = staleness.hashes_of(one.item, roots), staleness.commits_now(one.item, roots)
                item = msgspec.structs.replace(one.item, files=files, commits=commits)
                store.add(context.places, [item])
            store.note(context.places, [Change(at=store.now(), what=what, id=one.item.id, note=args.note)])
            _folded(connection, context)
        return _said(context, one.item.id, what)

    return decide


def _forget(args: argparse.Namespace, context: Context) -> int:
    one = _one(args, context)
    with writing(context) as connection:
        store.forget(context.places, one.item.id)
        _folded(connection, context)
    return _said(context, one.item.id, "forgotten")


def _edit(args: argparse.Namespace, context: Context) -> int:
    one = _one(args, context)
    changes = {"text": args.text, "when_to_use": args.when, "do_not_use_when": args.unless}
    changes = {name: value for name, value in changes.items() if value is not None}
    if args.scope is not None:
        key = one.item.scope.key if args.scope == "repository" else None
        changes["scope"] = Scope(args.scope, key)
    if not changes:
        raise Failure("usage", "nothing to change", "--text, --when, --unless or --scope", WRONG_USAGE)
    item = msgspec.structs.replace(one.item, version=one.item.version + 1, **changes)
    with writing(context) as connection:
        store.add(context.places, [item], "edited")
        _folded(connection, context)
    problems = trust.findings(item)
    if problems:
        output.warn(f"it is not handed out: {'; '.join(problems)}")
    return _said(context, item.id, "edited")


def _utility(args: argparse.Namespace, context: Context) -> int:
    one = _one(args, context)
    if not 0 <= args.reward <= 1:
        raise Failure("usage", "--reward is from 0 to 1", "--reward 1 if it helped", WRONG_USAGE)
    change = Change(at=store.now(), what="credited", id=one.item.id, reward=args.reward, note=args.note)
    with writing(context) as connection:
        store.note(context.places, [change])
        _folded(connection, context)
    return _said(context, one.item.id, "credited")


def _folded(connection: apsw.Connection, context: Context) -> None:
    folding.fold(connection, context.places)
    learning.note_folded(connection, context.places)


def _said(context: Context, name: str, what: str) -> int:
    if context.json:
        output.print_json({"id": name, "what": what})
    else:
        output.say(f"{name} {what}")
    return 0


def _import(args: argparse.Namespace, context: Context) -> int:
    key = retrieval.scopes(args.cwd or os.getcwd())[0] if args.scope == "repository" else None
    with writing(context) as connection:
        found = authored.import_folder(context.places, args.folder, Scope(args.scope, key), staleness.roots(connection))
        _folded(connection, context)
    if context.json:
        output.print_json({"files": [one._asdict() for one in found]})
        return 0
    for one in found:
        output.say(f"{one.id}  {one.what:9}  {one.path}")
    if not found:
        output.say("There are no markdown files in it.")
    return 0


def _export(args: argparse.Namespace, context: Context) -> int:
    one = _one(args, context)
    if one.findings:
        raise Failure(
            "needs_review", f"{one.item.id} is not handed out: {'; '.join(one.findings)}", "retro memory edit"
        )
    path = skills.export(one.item, args.to)
    if context.json:
        output.print_json({"id": one.item.id, "path": path})
    else:
        output.say(path)
    return 0


def _retrieve(args: argparse.Namespace, context: Context) -> int:
    bring_up_to_date(context)
    where = retrieval.scopes(os.path.abspath(args.cwd) if args.cwd else os.getcwd())
    find = retrieval.retrieve if args.keywords else by_meaning(context) or retrieval.retrieve
    with sessions.reading(context) as index:
        if index is None:
            answer = retrieval.Answer(retrieval.NONE, "nothing is captured yet", [])
        else:
            answer = find(index, args.query, where, args.accepted_only)
    hits = answer.hits[: args.limit]
    if context.json:
        rows = [_hit(hit, args.explain) for hit in hits]
        output.print_json({"decision": answer.decision, "reason": answer.reason, "memories": rows})
        return 0
    output.say(f"{answer.decision}: {answer.reason}", "bold")
    for hit in hits:
        output.say(f"  {hit.text}")
        about = f"    {hit.id}  {hit.status}  {hit.source}" + (f"  stale: {hit.stale}" if hit.stale else "")
        output.say(about, "dim")
        if args.explain:
            parts = ", ".join(f"{name} {part:.2f}" for name, part in hit.parts.items())
            output.say(f"    relevance {hit.relevance:.2f}, value {hit.value:.2f}: {parts}", "dim")
    return 0


def _hit(hit: retrieval.Hit, explain: bool) -> dict[str, object]:
    found: dict[str, object] = {
        "id": hit.id,
        "status": hit.status,
        "kind": hit.kind,
        "text": hit.text,
        "steps": msgspec.json.decode(hit.steps),
        "source": hit.source,
        "stale": hit.stale,
        "relevance": round(hit.relevance, 3),
        "value": round(hit.value, 3),
    }
    if explain:
        found["parts"] = {name: round(part, 3) for name, part in hit.parts.items()}
        found["matched"] = sorted(hit.matched)
    return found


def _weave(args: argparse.Namespace, context: Context) -> int:
    raise Failure("usage", "weave is asked of the light entry", "retro memory weave --query TEXT", WRONG_USAGE)


Verb = tuple[str, "Callable[[argparse.ArgumentParser], None]", "Callable[[argparse.Namespace, Context], int]"]

VERBS: dict[str, Verb] = {
    "init": ("learn from all sessions", _nothing, _init),
    "list": ("the memories, accepted ones first", _of_list, _list),
    "show": ("one memory with its evidence", _an_id, _show),
    "retrieve": ("what speaks to a question, or that nothing does", _of_retrieve, _retrieve),
    "weave": ("the few lines that matter to a prompt, for agents", _of_weave, _weave),
    "accept": ("keep one for good", _an_id_and_why, _decide("accepted")),
    "reject": ("never hand one out", _an_id_and_why, _decide("rejected")),
    "edit": ("say it better, as a new version", _of_edit, _edit),
    "forget": ("delete one for good", _an_id, _forget),
    "update-utility": ("say whether one helped", _of_utility, _utility),
    "import-authored": ("take markdown files in that you wrote", _of_import, _import),
    "export-skill": ("write one as a skill that agents load", _of_export, _export),
    "doctor": ("what is torn, doubtful, stale or leads nowhere", _nothing, _doctor),
    "reindex": ("fold the files of memories into the index again", _nothing, _reindex),
}
