"""Finding by meaning: an extra. Without it everything works by words."""
