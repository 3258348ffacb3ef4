"""What sessions teach: traces of what was done, methods that draw candidates from them, filters that judge those."""
