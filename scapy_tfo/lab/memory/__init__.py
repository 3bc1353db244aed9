"""The reference implementation as a target in this process."""
