"""What a session did, step by step, without a word of its text: what signals are computed from."""
