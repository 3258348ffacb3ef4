"""Raw and normalised sessions on disk: append-only, compressed, verified."""
