"""Evidence that verdicts can be trusted: mutants, weakened cases, repeated runs."""
