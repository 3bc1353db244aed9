"""Tables for the documentation."""
