"""Whether all is well: what is looked at, in which zone it is, and what to do about it; and the repairs."""
