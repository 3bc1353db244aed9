"""Real servers that answer a client, while the suite leads its TCP."""
