"""How each agent writes its sessions: one file per host, found by name."""

from __future__ import annotations

import os
from importlib import import_module

TYPE_CHECKING = False  # as in places: what asks only for the names of hosts loads nothing more
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final

    from retro.agents.interface import AgentModule, Hooked, Instructed, Source

MODULES: Final = {
    "claude": "retro.agents.claude",
    "codex": "retro.agents.codex",
    "jetbrains": "retro.agents.jetbrains",
    "copilot": "retro.agents.copilot",
    "grok": "retro.agents.grok",
    "gemini": "retro.agents.gemini",
    "opencode": "retro.agents.opencode",
    "openclaw": "retro.agents.openclaw",
    "pi": "retro.agents.pi",
    "vscode": "retro.agents.vscode",
    "qwen": "retro.agents.qwen",
    "droid": "retro.agents.droid",
    "kimi": "retro.agents.kimi",
    "cursor": "retro.agents.cursor",
    "deepseek": "retro.agents.deepseek",
    "antigravity": "retro.agents.antigravity",
    "omp": "retro.agents.omp",
    "iflow": "retro.agents.iflow",
    "roo": "retro.agents.roo",
    "kilo": "retro.agents.kilo",
    "cline": "retro.agents.cline",
    "visualstudio": "retro.agents.visualstudio",
    "posit": "retro.agents.posit",
    "qwenpaw": "retro.agents.qwenpaw",
    "hermes": "retro.agents.hermes",
    "neovim": "retro.agents.neovim",
}
"""Every host that retro can read, and the module that does it. A new one is a file and a line here.

Of several that claim a file the first one has it: a host that writes as another one does stands before that one."""


def named(host: str) -> AgentModule:
    """The module of a host; KeyError for one that we do not know."""
    found: AgentModule = _module(MODULES[host])
    return found


def _module(name: str) -> Any:
    return import_module(name)


def hooked() -> dict[str, Hooked]:
    """The modules of the hosts that run hooks of the user's, by host."""
    return {host: _module(name) for host, name in MODULES.items() if hasattr(_module(name), "hooks")}


def instructed() -> dict[str, Instructed]:
    """What has instructions of the user's, by host; beside the hosts a file that many of them read."""
    found = {host: _module(name) for host, name in MODULES.items() if hasattr(_module(name), "instructions")}
    return {**found, "agents-md": _module("retro.agents.agents_md")}


def all_agents() -> Iterator[AgentModule]:
    """The modules of all hosts."""
    return map(named, MODULES)


def claimed(path: str) -> Iterator[Source]:
    """What a path given by a person stands for: of a file what the first host has that knows it, of a folder all."""
    full = os.path.expanduser(path)
    of_hosts = {agent.HOST: sources for agent in all_agents() if (sources := _claims(agent, full))}
    if not os.path.isdir(full):
        yield from next(iter(of_hosts.values()), [])
        return
    takers: dict[str, list[str]] = {}
    for host, sources in of_hosts.items():
        for source in sources:
            takers.setdefault(source.path, []).append(host)
    for host, sources in of_hosts.items():
        yield from (source for source in sources if _whose(source, takers[source.path]) == host)


def claiming(path: str) -> list[str]:
    """All hosts that would take a path."""
    return [agent.HOST for agent in all_agents() if _claims(agent, path)]


def _whose(source: Source, hosts: list[str]) -> str:
    """Of the hosts that would take a file because of where it lies, the first that knows what stands in it."""
    if len(hosts) == 1:
        return hosts[0]
    return next((host for host in hosts if _claims(named(host), source.path)), hosts[0])


def _claims(agent: AgentModule, path: str) -> list[Source]:
    try:
        return agent.claims(path)
    except Exception:
        return []  # a file of another host may hold anything
