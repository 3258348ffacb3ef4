"""What a command module provides, and what it is given: one file a command family, found through `retro.cli.GROUPS`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from retro import __version__, agents, config
from retro.cli import output
from retro.failure import WRONG_USAGE, Failure
from retro.places import Places, RootChoice, find_root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


USUAL_COLUMNS = 80
"""The width of what is no terminal."""


class Context:
    """What surrounds one command: its global options, settings and data root, found out when first asked for."""

    def __init__(self, args: argparse.Namespace, env: Mapping[str, str] | None = None) -> None:
        self.env: Mapping[str, str] = os.environ if env is None else env
        self.json: bool = args.json
        """Print one versioned JSON object, and nothing else, on stdout."""
        self.root_option: str | None = args.root
        self.config_option: str | None = args.config
        self._settings: config.Settings | None = None
        self._root: RootChoice | None = None

    @property
    def settings(self) -> config.Settings:
        """The user's settings; what the file holds that is not understood is named once, on stderr."""
        if self._settings is None:
            self._settings = config.load(self.config_option, self.env, root=self.root_option, hosts=agents.MODULES)
            for warning in self._settings.warnings:
                output.warn(warning)
        return self._settings

    @property
    def root(self) -> RootChoice:
        """The data root, and why it is this one."""
        if self._root is None:
            self._root = find_root(self.root_option, self.env, self.settings)
        return self._root

    @property
    def places(self) -> Places:
        """The layout below the data root. The root may not exist yet."""
        return Places(self.root.path)


class Command(Protocol):
    """A module under `retro.cli` that tells one noun's story. A new one is a file and a line in `retro.cli.GROUPS`."""

    def add_arguments(self, parser: Parser) -> None:
        """Declare options and verbs. The global options are there already, also behind a verb."""

    def run(self, args: argparse.Namespace, context: Context) -> int:
        """Do it and give the exit code. What the user did wrong, or the machine refuses, is raised as a `Failure`."""


class _Help(argparse.HelpFormatter):
    """Help as wide as the terminal. argparse makes one of these for every option that is declared, and would load a
    module of the standard library to know how wide that is."""

    # Any: argparse hands over keywords that differ by Python version.
    def __init__(self, prog: str, **keywords: Any) -> None:
        super().__init__(prog, **{"width": _columns() - 2, **keywords})


def _columns() -> int:
    try:
        return int(os.environ.get("COLUMNS", "")) or USUAL_COLUMNS
    except ValueError:
        pass
    try:
        return os.get_terminal_size(1).columns or USUAL_COLUMNS
    except OSError:
        return USUAL_COLUMNS


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are `Failure`s, and that takes the global options wherever they stand."""

    # Any: argparse itself makes the verbs' parsers, with keywords that differ by Python version.
    def __init__(self, prog: str | None = None, **keywords: Any) -> None:
        keywords.setdefault("formatter_class", _Help)
        super().__init__(prog=prog, allow_abbrev=False, add_help=False, **keywords)
        # Declared in the group: to declare it as argparse does loads all that lays out help.
        self._optionals.add_argument(
            "-h", "--help", action="help", default=argparse.SUPPRESS, help="show this help message and exit"
        )
        self.given: list[str] = []
        """What will be parsed: a command with many verbs need not declare those that do not stand there."""
        self.minus_words = False
        """Whether a `-word` that is no option counts as one of `words`: to `retro search`, what is not wanted."""
        self.color = False  # Python 3.14 would colour the help, whatever --no-color says
        self._add_global_options()

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As argparse does it, words with a minus set aside first."""
        given = list(sys.argv[1:] if args is None else args)
        if not self.minus_words:
            return super().parse_known_args(given, namespace)
        aside = [word for word in given if len(word) > 2 and word[0] == "-" and word[1] != "-"]
        found, rest = super().parse_known_args([word for word in given if word not in aside], namespace)
        found.words = [*found.words, *aside]
        return found, rest

    def error(self, message: str) -> NoReturn:
        """Give argparse's complaint the shape of every other error."""
        raise Failure("usage", message, f"{self.prog} --help", WRONG_USAGE)

    def _add_global_options(self) -> None:
        """Declare them with no default, so that a verb's parser does not undo what stood before the verb."""
        group = self.add_argument_group("options of every command")
        none = argparse.SUPPRESS
        group.add_argument("--root", metavar="DIR", default=none, help="the archive to use")
        group.add_argument("--config", metavar="FILE", default=none, help="the settings file to use")
        group.add_argument("--json", action="store_true", default=none, help="print JSON")
        group.add_argument("--no-color", action="store_true", default=none, help="print without colours")
        group.add_argument("--version", action="version", version=f"retro {__version__}", help="print the version")
