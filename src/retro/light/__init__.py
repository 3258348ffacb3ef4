"""What agents call while a person waits: loads only small modules, starts nothing, writes at most a line."""
