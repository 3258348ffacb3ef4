"""Digests: the small permanent summary of each session, which outlives its bytes."""
