"""The sending half of a conversation: what may be sent, what is kept, when it is sent again."""
