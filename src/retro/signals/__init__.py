"""How a session went: signals, each a function that reads one thing off what the session did."""
