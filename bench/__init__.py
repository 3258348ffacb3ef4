"""How fast retro is, beside others of its field: a generator of sessions, the cases, a profile."""
