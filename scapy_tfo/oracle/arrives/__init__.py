"""What a segment of ours makes of the target (RFC 9293 section 3.10.7)."""
