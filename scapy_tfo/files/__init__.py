"""Names of files, and how they are written: nothing from outside decides where."""
