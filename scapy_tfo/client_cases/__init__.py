"""The cases for clients: conversations in which we are the server, one file for each subject."""
