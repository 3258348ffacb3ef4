"""The dashboard: a static site made of the index, whose every figure leads back to the line that it came from."""
