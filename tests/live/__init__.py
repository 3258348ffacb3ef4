"""Real agent clients, run offline beside a scripted model; `docs/live-tests.md` tells how."""
