"""What recurs over sessions, and across hosts: problems with what resolves them, corrections, what works."""
