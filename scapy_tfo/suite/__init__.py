"""What judges a target: the case registry, the peer a case talks to, the runner, verdicts."""
