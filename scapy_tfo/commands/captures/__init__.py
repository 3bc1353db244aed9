"""The commands of scapy-tfo capture."""
