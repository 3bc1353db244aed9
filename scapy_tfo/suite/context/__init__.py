"""What surrounds a case without being what it is about: its factors, and how segments show them."""
