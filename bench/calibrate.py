"""`python -m bench.calibrate HOME`: writes the figures that the generator works by."""

from __future__ import annotations

import os
import re
import sys
from typing import Final

import msgspec

from bench.figures import Figures, measure

PATH: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "calibration.json")


def calibration() -> Figures:
    """What was measured on real sessions."""
    with open(PATH, "rb") as file:
        return msgspec.json.decode(file.read(), type=Figures)


def rounded(figures: Figures) -> Figures:
    """As many digits as mean something."""
    for kind in figures.kinds.values():
        kind.count, kind.size = round(kind.count, 6), round(kind.size, 6)
    for name in ("compressed", "conversation", "words", "signature"):
        setattr(figures, name, round(getattr(figures, name), 4))
    return figures


def main() -> int:
    """Measure the home that was named."""
    if len(sys.argv) != 2:
        print("python -m bench.calibrate HOME", file=sys.stderr)
        return 2
    text = msgspec.json.format(msgspec.json.encode(rounded(measure(sys.argv[1]))), indent=1).decode()

    with open(PATH, "w", encoding="utf-8") as file:
        file.write(_compact(text) + "\n")
    return 0


def _compact(text: str) -> str:
    """Each list of numbers on one line."""

    return re.sub(r"\[[\s\d,]+\]", lambda found: "".join(found[0].split()).replace(",", ", "), text)


if __name__ == "__main__":
    sys.exit(main())
