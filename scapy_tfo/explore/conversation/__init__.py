"""One conversation on virtual time: two applications, a client, a path with faults, a target."""
