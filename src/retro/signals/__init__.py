"""How a session went: signals, each a function that reads one thing off what the session did."""

from __future__ import annotations

VERSION = 2
"""Raised when the same track would give other readings: they are then read again, and no record is parsed for it."""
