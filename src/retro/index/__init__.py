"""The SQLite index: derived from the archive, written by the sweep, read by everything that shows."""
