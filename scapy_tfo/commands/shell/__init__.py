"""What shells need of the command line: completion."""
