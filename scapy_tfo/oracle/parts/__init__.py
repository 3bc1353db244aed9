"""What the halves of the oracle share: what is known of a flow, and the rules to judge it by."""
