"""The command line: finds the command, loads its one file, and turns every error into a line and an exit code."""

from __future__ import annotations

import os
import sys

from retro import __version__
from retro.failure import WRONG_USAGE, Failure, did_you_mean

TYPE_CHECKING = False  # `retro --version` loads nothing that it does not need
if TYPE_CHECKING:
    import argparse

# One line a command: noun, module under `retro.cli`, what it does. Help shows them in this order.
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Keep": {
        "init": ("init_cmd", "make an archive in this folder"),
        "sweep": ("sweep_cmd", "capture everything that is new, from every agent"),
        "import": ("import_cmd", "capture chosen sessions, files or folders"),
        "schedule": ("schedule_cmd", "sweep every hour, by the system's own scheduler"),
        "hooks": ("hooks_cmd", "have agents tell when a session ends"),
        "hook": ("hook_cmd", "what those hooks call: notes that a session has ended"),
    },
    "Look": {
        "search": ("search_cmd", "find turns and sessions by words"),
        "grep": ("grep_cmd", "look through every byte of the archive for a pattern"),
        "list": ("list_cmd", "the sessions, newest first"),
        "show": ("show_cmd", "one session: what was captured, and every gap"),
        "digest": ("digest_cmd", "one session in short: what was done, went wrong, and cost"),
        "render": ("render_cmd", "a session as markdown"),
        "events": ("events_cmd", "a session's events as JSON lines"),
        "agents": ("agents_cmd", "the agents on this machine, and whether they can be read"),
        "raw": ("raw_cmd", "what the agent wrote, byte for byte (secrets included)"),
        "export": ("export_cmd", "one session as one file to share"),
        "dashboard": ("dashboard_cmd", "everything on one page, on your own disk"),
    },
    "Recall": {
        "recall": ("recall_cmd", "what was done in this repository, in a few tokens"),
    },
    "Count": {
        "cost": ("cost_cmd", "what it cost: by day, session, model and more"),
        "prices": ("prices_cmd", "what models cost, which have no price, and newer tables"),
        "budget": ("budget_cmd", "what is left of your budgets, and of what providers allow"),
        "statusline": ("statusline_cmd", "what it costs right now, as one line for the agent's window"),
    },
    "Learn": {
        "signal": ("signal_cmd", "how sessions went: what signals read off them"),
        "memory": ("memory_cmd", "what is kept for later sessions, and handed to them"),
        "mine": ("mine_cmd", "what sessions teach: errors and fixes, commands, corrections"),
        "measure": ("measure_cmd", "whether memory helps: an experiment with your own sessions"),
        "detect": ("detect_cmd", "what recurs over all sessions, and across agents"),
        "methods": ("methods_cmd", "what mining knows how to look for"),
    },
    "Tend": {
        "health": ("health_cmd", "whether all is well: green, amber or red, with what to do"),
        "doctor": ("doctor_cmd", "says what is out of order, then mends it"),
        "schema-check": ("schema_check_cmd", "whether agents still write as they did"),
        "semantic": ("semantic_cmd", "search by meaning: whether it is there; fill in vectors"),
        "verify": ("verify_cmd", "read everything again, name what is damaged, mend it"),
        "restore": ("restore_cmd", "give the agent a session's files back"),
        "forget": ("forget_cmd", "delete sessions from everywhere, for good"),
        "space": ("space_cmd", "what uses the space, and what the budget would give up"),
        "pin": ("pin_cmd", "keep a session from ever being given up"),
        "config": ("config_cmd", "the settings, and where each comes from"),
        "reindex": ("reindex_cmd", "rebuild the index from the archive"),
        "bench-retrieval": ("bench_retrieval_cmd", "rank documents of your own by the same search, to measure it"),
    },
}

LIGHT: dict[str, str] = {
    "cost": "retro.light.cost",
    "hook": "retro.light.hook",
    "memory": "retro.light.weave",
    "recall": "retro.light.recall",
    "statusline": "retro.light.statusline",
}
"""Commands that hosts call while a person waits; their modules are run without anything that the others need.

Where one gives no exit code, it has done nothing, and the command is run as all others are."""

HEAVY_VERBS: dict[str, frozenset[str]] = {"recall": frozenset({"install"})}
"""What of them a person asks for, and may take its time."""

LIGHT_VERBS: dict[str, frozenset[str]] = {"memory": frozenset({"weave"})}
"""Where only some verbs are light."""

COMMANDS: dict[str, tuple[str, str]] = {noun: entry for group in GROUPS.values() for noun, entry in group.items()}

FLAGS = {"--json": "json", "--no-color": "no_color", "--version": "version", "--help": "help", "-h": "help"}
VALUES = {"--root": "root", "--config": "config"}


def run(arguments: list[str]) -> int:
    """Run one command line (without the program's name) and give the exit code. Nothing is ever raised."""
    _prepare_streams()
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BaseException as error:
        return _report(error, as_json="--json" in _options_of(arguments))
    return code


# --- finding the command ---------------------------------------------------------------------------------------------


def _dispatch(arguments: list[str]) -> int:
    options, rest = _leading_options(arguments)
    if options.get("version"):
        print(f"retro {__version__}")
        return 0
    if options.get("help"):
        return _show_help(as_json=bool(options.get("json")))
    if not rest:
        return _show_start(options)
    noun = rest[0]
    if noun not in COMMANDS:
        raise Failure(
            "usage", f'there is no command "{noun}"', did_you_mean(noun, COMMANDS) or "retro --help", WRONG_USAGE
        )
    if noun in LIGHT and not _is_heavy(noun, rest[1:]):
        code: int | None = __import__(LIGHT[noun], fromlist=["run"]).run(rest[1:], options)
        if code is not None:
            return code
    return _run_command(noun, rest[1:], options)


def _is_heavy(noun: str, arguments: list[str]) -> bool:
    """Whether a light command is asked for its help, or for a verb that is none of its light ones."""
    if {"--help", "-h"} & set(_options_of(arguments)):
        return True
    verb = next(iter(arguments), "")
    return verb in HEAVY_VERBS.get(noun, ()) or (noun in LIGHT_VERBS and verb not in LIGHT_VERBS[noun])


def _run_command(noun: str, arguments: list[str], options: dict[str, str | bool]) -> int:
    import importlib

    from retro.cli import interface, output

    module, line = COMMANDS[noun]
    command: interface.Command = importlib.import_module(f"retro.cli.{module}")
    parser = interface.Parser(prog=f"retro {noun}", description=f"{line[0].upper()}{line[1:]}.")
    parser.set_defaults(**{"root": None, "config": None, "json": False, "no_color": False, **options})
    parser.given = arguments
    command.add_arguments(parser)
    try:
        args: argparse.Namespace = parser.parse_args(arguments)
    except SystemExit:  # --help and --version; a wrong argument is a Failure
        return 0
    output.configure(color=not args.no_color)
    return command.run(args, interface.Context(args))


def _leading_options(arguments: list[str]) -> tuple[dict[str, str | bool], list[str]]:
    """The global options before the command, and the rest of the line."""
    options: dict[str, str | bool] = {}
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        name, has_value, value = rest.pop(0).partition("=")
        if name in FLAGS and not has_value:
            options[FLAGS[name]] = True
        elif name in VALUES and (has_value or rest):
            options[VALUES[name]] = value if has_value else rest.pop(0)
        elif name in VALUES:
            raise Failure("usage", f"{name} needs a value", "retro --help", WRONG_USAGE)
        else:
            hint = did_you_mean(name, (*FLAGS, *VALUES)) or "retro --help"
            raise Failure("usage", f'there is no option "{name}"', hint, WRONG_USAGE)
    return options, rest


def _options_of(arguments: list[str]) -> list[str]:
    """The arguments before a `--`."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _show_help(as_json: bool) -> int:
    if as_json:
        from retro.cli import output

        output.print_json({"commands": _command_lines()})
    else:
        print(help_text(), end="")
    return 0


def _show_start(options: dict[str, str | bool]) -> int:
    """Bare `retro`: what is kept and what to do next; the help where nothing is kept yet."""
    import argparse

    from retro.cli import interface, output, start

    output.configure(color=not options.get("no_color"))
    given = {"root": None, "config": None, "json": False, **options}
    context = interface.Context(argparse.Namespace(**given))
    if context.json:
        output.print_json({"archive": start.archive(context), "commands": _command_lines()})
    elif not start.show(context):
        print(f"\n{help_text()}", end="")
    return 0


def _command_lines() -> dict[str, str]:
    return {noun: line for noun, (_, line) in COMMANDS.items()}


def help_text() -> str:
    """What `retro --help` prints; made without loading any command."""
    lines = ["retro keeps every session of your coding agents, on this machine.", "", "  retro COMMAND [options]"]
    width = max(map(len, COMMANDS)) + 2
    for group, commands in GROUPS.items():
        lines += ["", group, *(f"  {noun:{width}}{line}" for noun, (_, line) in commands.items())]
    lines += [
        "",
        "Options of every command",
        f"  {'--root DIR':{width + 6}}the archive to use",
        f"  {'--config FILE':{width + 6}}the settings file to use",
        f"  {'--json':{width + 6}}print JSON",
        f"  {'--no-color':{width + 6}}print without colours (or set NO_COLOR)",
        "",
        "retro COMMAND --help tells more about one command.",
    ]
    return "\n".join(lines) + "\n"


# --- streams and errors ----------------------------------------------------------------------------------------------


def _prepare_streams() -> None:
    """No character may ever stop a command: what the terminal cannot show is replaced."""
    for name, errors in (("stdout", "replace"), ("stderr", "backslashreplace")):
        stream = getattr(sys, name)
        if stream is None:  # started with the stream closed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - lives as long as the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=errors, **({"encoding": "utf-8"} if os.name == "nt" else {}))


def _report(error: BaseException, as_json: bool) -> int:
    if isinstance(error, BrokenPipeError) and _reader_is_gone():
        # Python flushes stdout once more at exit, and would complain about the same pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    from retro.cli.errors import explained, show

    failure = explained(error)
    try:
        show(failure, as_json)
    except (OSError, ValueError):  # nobody listens
        pass
    return failure.exit_code


def _reader_is_gone() -> bool:
    """Whether it was stdout that broke, as in `retro list | head`, and not the pipe of some worker."""
    try:
        import select

        poll = select.poll()
        poll.register(1, 0)
        return bool(poll.poll(0))
    except (ImportError, AttributeError, OSError):  # Windows has no poll
        return True
