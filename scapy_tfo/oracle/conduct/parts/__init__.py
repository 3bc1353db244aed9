"""What the rules of conduct keep of a conversation."""
