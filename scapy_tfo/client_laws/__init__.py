"""Laws that hold in every conversation of a client, and conversations that are drawn by chance."""
