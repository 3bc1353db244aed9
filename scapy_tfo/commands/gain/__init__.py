"""The commands of scapy-tfo gain."""
