"""Which schedules there are: what each stage of an exploration plays, and in which order."""
