"""Shows that a fast open whose SYN-ACK was sent again waits 5 s for its first full segment."""

import sys

from wire import MSS, RST, SYN, fast_open, opened

SIZE = 2800


def waited(connection, options):
    """Seconds from our ACK and text of two segments to the first byte of the answer."""
    connection.send(SYN, options=options)
    heard = 0
    for segment in connection.received(10.0):
        heard += bool(segment.flags & SYN)
        if heard == 3:
            break
    connection.send(0, 1, 1)
    # The second half first, so that the application reads, and writes, both at once.
    for at in (SIZE // 2, 0):
        connection.send(0, 1 + at, 1, data=b"r" * (SIZE // 2))
    began = None
    for segment in connection.received(12.0):
        if began is None:
            began = segment.when
        if segment.data:
            connection.send(RST, 1 + SIZE, 1)
            return segment.when - began
    return 12.0


def main():
    wire = opened(__doc__)
    plain = waited(wire.connection(), MSS)
    print(f"no fast open: the answer began {plain:.1f} s after the request was acknowledged\n")
    fast = waited(wire.connection(), MSS + fast_open(wire.cookie()))
    print(f"fast open: the answer began {fast:.1f} s after the request was acknowledged")
    return int(fast > plain + 1)


if __name__ == "__main__":
    sys.exit(main())
