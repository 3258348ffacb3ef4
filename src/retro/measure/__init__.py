"""Whether memory helps: a share of sessions gets no weave, by lot, and both kinds are compared."""
