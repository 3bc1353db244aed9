"""The Wireshark plugin from outside: where it lies, where it goes, whether it works."""
