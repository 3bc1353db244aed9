"""Shows that a RST with ACK does not end a handshake that is under way."""

import sys

from wire import MSS, RST, SYN, opened


def again(wire, *, with_ack):
    """Whether the SYN-ACK comes again after a RST."""
    connection = wire.connection()
    connection.send(SYN, options=MSS)
    next(connection.received(2.0, until=SYN))
    connection.send(RST, 1, 1 if with_ack else None)
    came = any(each.flags & SYN for each in connection.received(4.0))
    connection.send(RST, 1)
    return came


def main():
    wire = opened(__doc__)
    bare = again(wire, with_ack=False)
    print()
    acked = again(wire, with_ack=True)
    print(f"the SYN-ACK came again after a RST: {bare}; after a RST with ACK: {acked}")
    return int(acked and not bare)


if __name__ == "__main__":
    sys.exit(main())
