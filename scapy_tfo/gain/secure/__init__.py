"""What newer ways of saving round trips give on the same link and pages, on virtual time."""
