"""Finds, installs and checks the Wireshark plugin, and reads its results."""
