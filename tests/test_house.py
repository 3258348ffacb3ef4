"""The shape of the package: storeys, size, and words for every public name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import retro
from retro import agents

PACKAGE = Path(retro.__file__).parent
LONGEST = 60

# Lowest first. A module stands on its own storey or below: it imports nothing from above. Archive stands on `turns`.
STOREYS = [
    {
        "retro",
        "event",
        "failure",
        "places",
        "plugins",
        "config",
        "secrets",
        "repository",
        "commits",
        "toml_text",
        "lock",
        "inbox",
        "lines",
        "commands",
        "problems",
        "terms",
        "placing",
        "conversation",
        "threads",
    },
    {"agents"},
    {"archive", "turns", "landmarks", "notes", "passages", "track"},
    {"ledger", "signals"},
    {"index"},
    {"semantic"},
    {"digests", "mining", "measure"},
    {"patterns", "memory"},
    {
        "capture",
        "carrying",
        "recording",
        "settling",
        "outcomes",
        "versions",
        "workers",
        "pipeline",
        "committing",
        "reindex",
        "sweep",
        "finding",
        "planning",
        "retention",
        "upkeep",
        "trial",
        "presence",
        "scanning",
        "foreign",
    },
    {"surfaces", "cadence", "light"},
    {"health", "dashboard", "api", "vectors"},
    {"cli", "demo", "__main__"},
]


def modules() -> dict[str, tuple[Path, ast.Module]]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ("retro", *path.relative_to(PACKAGE).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path, ast.parse(path.read_text("utf-8"))
    return found


MODULES = modules()


def imported(name: str, *, lazy: bool) -> set[str]:
    """Modules of ours that a module imports when it is loaded, or also (`lazy`) inside its functions."""
    path, tree = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return {target for target in _targets(tree, package, lazy) if target != name}


def _targets(tree: ast.AST, package: str, lazy: bool) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not lazy:
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (_module(alias.name) for alias in node.names if alias.name.split(".")[0] == "retro")
        elif isinstance(node, ast.ImportFrom):
            stem = node.module or "" if not node.level else f"{package}.{node.module}" if node.module else package
            if stem.split(".")[0] == "retro":
                yield from (_module(f"{stem}.{alias.name}") for alias in node.names)
        else:
            yield from _targets(node, package, lazy)


def _module(name: str) -> str:
    while name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def storey(name: str) -> int:
    room = name.split(".")[1] if "." in name else "retro"
    return next(number for number, rooms in enumerate(STOREYS) if room in rooms)


@pytest.mark.parametrize("name", MODULES)
def test_no_import_leads_up(name: str) -> None:
    own = storey(name)
    assert [target for target in imported(name, lazy=True) if storey(target) > own] == []


def test_no_modules_import_each_other() -> None:
    graph = {name: imported(name, lazy=False) for name in MODULES}
    done: set[str] = set()
    while ready := {name for name in graph if name not in done and graph[name] <= done}:
        done |= ready
    assert sorted(set(graph) - done) == []


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("retro.agents.")])
def test_no_host_is_known_outside_of_its_module(name: str) -> None:
    """An agent's module knows no other agent's; what they share lies in rooms of its own."""
    shared = {"emitter", "interface", "records", "jsonl"}
    stem = name.split(".")[2].partition("_")[0]
    others = {target.split(".")[2].partition("_")[0] for target in imported(name, lazy=True) if target.count(".") > 1}
    if stem not in shared:
        assert {other for other in others if other in HOSTS} <= {stem}


HOSTS = {*agents.MODULES, "gemini", "opencode", "jetbrains", "neovim"}


@pytest.mark.parametrize("name", MODULES)
def test_functions_fit_on_a_screen(name: str) -> None:
    lengths = {
        node.name: (node.end_lineno or 0) - node.lineno + 1
        for node in ast.walk(MODULES[name][1])
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    assert {function: length for function, length in lengths.items() if length > LONGEST} == {}


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_says_what_it_is_for(name: str) -> None:
    tree = MODULES[name][1]
    bare = [] if ast.get_docstring(tree) or not tree.body else [name]
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            bare += [] if ast.get_docstring(node) else [node.name]
    assert bare == []


@pytest.mark.parametrize("name", MODULES)
def test_no_module_names_a_host(name: str) -> None:
    if name.startswith(("retro.agents", "retro.demo")):
        return
    named = {
        node.value
        for node in ast.walk(MODULES[name][1])
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.lower() in HOSTS
    }
    assert named <= OTHERWISE.get(name, set())


OTHERWISE = {"retro.ledger.litellm": {"gemini", "deepseek"}, "retro.mining.headless.clients": {"claude", "codex"}}
"""Words that name models here, or programs that are started, and hosts elsewhere."""


def test_a_named_tuple_has_no_other_base() -> None:
    """Python 3.10 refuses to make such a class when its module is loaded, and no checker says so."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            bases = [ast.unparse(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []
            assert "NamedTuple" not in bases or len(bases) == 1, path
