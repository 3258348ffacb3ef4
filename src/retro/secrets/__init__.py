"""Secrets and hostile text: token shapes, masking, injection marks, invisible characters. Ground floor."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from retro.secrets.hostile import mark_suspects, marks, visible
    from retro.secrets.masking import RULE_NAMES, Masked, mask, mask_value
    from retro.secrets.orders import orders
    from retro.secrets.prefilter import suspects

__all__ = [
    "RULES_VERSION",
    "RULE_NAMES",
    "Masked",
    "mark_suspects",
    "marks",
    "mask",
    "mask_value",
    "orders",
    "suspects",
    "visible",
]

RULES_VERSION: Final[int] = 1
"""Bumped when a rule is added or changed, so that derived text can be made anew."""

_ROOMS: Final = {
    "RULE_NAMES": "masking",
    "Masked": "masking",
    "mark_suspects": "hostile",
    "marks": "hostile",
    "mask": "masking",
    "mask_value": "masking",
    "orders": "orders",
    "suspects": "prefilter",
    "visible": "hostile",
}


def __getattr__(name: str) -> object:
    # Compiling the rules takes 30 ms, which a command that only prints need not wait for.
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value
