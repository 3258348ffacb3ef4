"""What the sums add up; without anything that a report does not need."""

from __future__ import annotations

TYPE_CHECKING = False  # as in places
if TYPE_CHECKING:
    from typing import Final

SUMS: Final = (
    "requests",
    "input_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "cache_read_tokens",
    "output_tokens",
    "reasoning_tokens",
    "web_searches",
    "cost",
    "calculated",
    "embedded",
    "embedded_requests",
    "unpriced_requests",
    "unpriced_tokens",
    "uncalculated_requests",
    "uncalculated_tokens",
    "lower_bound_requests",
    "fallback_requests",
)
"""The columns that add up. `cost` is what the host wrote, else what the price row gives."""
