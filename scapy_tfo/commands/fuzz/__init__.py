"""The commands of scapy-tfo fuzz."""
