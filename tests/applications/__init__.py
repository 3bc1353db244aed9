"""The suite and applications that are right, wrong or silent, over real sockets of this kernel."""
