"""The commands of scapy-tfo pkt."""
