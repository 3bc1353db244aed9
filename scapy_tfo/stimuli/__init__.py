"""Conversations that bring about what rules of TCP are about, one file for each subject."""
