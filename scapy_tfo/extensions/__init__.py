"""Cases, mutants and variants of users, and what pyproject.toml of their repository says."""
