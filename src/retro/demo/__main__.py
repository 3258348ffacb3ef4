"""`python -m retro.demo`, which `make run` calls."""

from __future__ import annotations

import sys

from retro.demo import run

if __name__ == "__main__":
    try:
        sys.exit(run())
    except KeyboardInterrupt:
        sys.exit(130)
