"""Shows that segments beyond a gap that touch are reported as blocks of their own."""

import struct
import sys

from wire import MSS, RST, SYN, opened

SACK_PERMITTED, SACK = b"\1\1\4\2", 5


def main():
    wire = opened(__doc__)
    connection = wire.connection()
    connection.send(SYN, options=MSS + SACK_PERMITTED)
    next(connection.received(2.0, until=SYN))
    connection.send(0, 1, 1)
    blocks = []
    for start in (21, 31):
        connection.send(0, start, 1, data=b"r" * 10)
        for segment in connection.received(0.5):
            edges = segment.option(SACK)
            if edges:
                found = struct.unpack(f"!{len(edges) // 4}I", edges)
                found = [(each - connection.isn) % 2**32 for each in found]
                blocks = list(zip(found[::2], found[1::2], strict=True))
                print(f"        blocks {blocks}")
    connection.send(RST, 1)
    return int(any(first[1] == second[0] for first in blocks for second in blocks))


if __name__ == "__main__":
    sys.exit(main())
