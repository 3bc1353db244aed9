"""The commands of scapy-tfo."""
