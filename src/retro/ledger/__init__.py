"""The ledger: every model request counted once in the whole archive, priced, and added up by period."""
