"""One file a mining method; a new one is a new file here."""
