"""Shows that a SYN-ACK that is sent again carries the Fast Open option again."""

import sys

from wire import FAST_OPEN, MSS, RST, SYN, fast_open, opened


def main():
    wire = opened(__doc__)
    connection = wire.connection()
    connection.send(SYN, options=MSS + fast_open())
    carried = []
    for segment in connection.received(5.0):
        carried.append(segment.option(FAST_OPEN) is not None)
        if len(carried) == 2:
            break
    connection.send(RST, 1)
    print(f"SYN-ACKs with the option: {carried}")
    return int(len(carried) == 2 and carried[1])


if __name__ == "__main__":
    sys.exit(main())
