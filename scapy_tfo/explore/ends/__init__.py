"""The ends of a conversation: applications, the client, how it opens, and its context."""
