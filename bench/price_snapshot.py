"""Makes the price table that comes with retro from LiteLLM's wheels, the newest first: `… DATE WHEEL [WHEEL …]`.

What the table held before stays, where the wheels do not know it: models that were dropped, and changes of a price.
"""

from __future__ import annotations

import json
import os
import sys
import zipfile
from typing import Any, Final

import msgspec

from retro.ledger.litellm import distilled
from retro.ledger.prices import Price, Table, snapshot

TARGET: Final = os.path.join("src", "retro", "ledger", "prices.json")

CHANGED: Final = {
    "grok-code-fast": "2026-05-15",
    "grok-code-fast-1": "2026-05-15",
    "grok-code-fast-1-0825": "2026-05-15",
    "deepseek-chat": "2025-09-05",
    "deepseek-reasoner": "2025-09-05",
    "o3": "2025-06-10",
    "o3-2025-04-16": "2025-06-10",
    # From then on a long context cost nothing more.
    "claude-opus-4-6": "2026-03-13",
    "claude-opus-4-6-20260205": "2026-03-13",
    "claude-sonnet-4-6": "2026-03-13",
    # From then on they took no long context any more.
    "claude-sonnet-4-5": "2026-05-01",
    "claude-sonnet-4-5-20250929": "2026-05-01",
    # From then on these were names of newer models.
    **dict.fromkeys(("grok-3", "grok-3-beta", "grok-3-latest", "grok-3-fast-beta", "grok-3-fast-latest"), "2026-05-15"),
    **dict.fromkeys(("grok-3-mini", "grok-3-mini-beta", "grok-3-mini-latest", "grok-3-mini-fast"), "2026-05-15"),
    **dict.fromkeys(("grok-3-mini-fast-beta", "grok-3-mini-fast-latest"), "2026-05-15"),
    **dict.fromkeys(("grok-4", "grok-4-0709", "grok-4-latest", "grok-4-1-fast"), "2026-05-15"),
    **dict.fromkeys(("grok-4-1-fast-reasoning", "grok-4-1-fast-reasoning-latest"), "2026-05-15"),
    **dict.fromkeys(("grok-4-1-fast-non-reasoning", "grok-4-1-fast-non-reasoning-latest"), "2026-05-15"),
    **dict.fromkeys(("grok-4-fast-reasoning", "grok-4-fast-non-reasoning"), "2026-05-15"),
}
"""From when on the newest figures are true, of models whose price changed; before, the older table's."""


def table_of(wheel: str) -> dict[str, Any]:
    """The table in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("model_prices_and_context_window_backup.json"))
        found: dict[str, Any] = json.loads(archive.read(name))
        return found


def main(day: str, wheels: list[str]) -> None:
    """Write the snapshot. A model that the newest table has dropped keeps its last price."""
    models: dict[str, list[Price]] = {}
    for wheel in wheels:
        for name, rows in distilled(table_of(wheel), day, "").models.items():
            if name not in models:
                models[name] = rows
            elif name in CHANGED and _differ(rows, models[name]) and not any(row.since for row in models[name]):
                models[name] = [*rows, *_since(CHANGED[name], models[name])]
    for name, rows in snapshot().models.items():
        if name not in models:
            models[name] = rows
        elif name in CHANGED and any(row.since for row in rows):
            tiers = {row.tier for row in rows}
            models[name] = [*rows, *_since(CHANGED[name], [row for row in models[name] if row.tier not in tiers])]
    version = os.path.basename(wheels[0]).split("-")[1]
    table = Table(day, f"LiteLLM {version}", dict(sorted(models.items()))).sealed()
    lines = b",\n".join(
        msgspec.json.encode(name) + b":" + msgspec.json.encode(rows) for name, rows in table.models.items()
    )
    head = msgspec.json.encode({"date": table.date, "source": table.source, "hash": table.hash})
    with open(TARGET, "wb") as file:
        file.write(head[:-1] + b',"models":{\n' + lines + b"\n}}\n")
    print(f"{len(table.models)} models, {os.path.getsize(TARGET):,} bytes, {table.hash}")


def _since(day: str, rows: list[Price]) -> list[Price]:
    return [msgspec.structs.replace(row, since=day) for row in rows]


def _differ(one: list[Price], other: list[Price]) -> bool:
    return (one[0].rates, one[0].bands) != (other[0].rates, other[0].bands)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
