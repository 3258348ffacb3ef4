"""The entry of `retro` and of `python -m retro`."""

from __future__ import annotations

import gc
import os
import sys


def main() -> int:
    """Run the command line and give the exit code."""
    gc.set_threshold(50_000, 20, 100)  # what is made here is nearly always freed by counting
    try:
        from retro.cli import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:  # pressed while modules were still loading
        return 130


def command() -> None:
    """Run the command line and end the process.

    To take the interpreter apart takes as long as a command may. Where no thread or process of ours is left, nothing
    waits for that: what was written is flushed, and the system takes back the rest.
    """
    code = main()
    threads, processes = sys.modules.get("threading"), sys.modules.get("multiprocessing")
    if (processes is not None and processes.active_children()) or (threads is not None and threads.active_count() > 1):
        sys.exit(code)
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):  # nobody reads it any more, which is told in the usual way
        sys.exit(code)
    os._exit(code)


if __name__ == "__main__":
    command()
