"""Packet-level conformance suite for TCP Fast Open (RFC 7413)."""

__version__ = "0.1.0"
