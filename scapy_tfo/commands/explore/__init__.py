"""The commands of scapy-tfo explore."""
