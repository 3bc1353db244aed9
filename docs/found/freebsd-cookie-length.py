"""Shows that a Fast Open option of invalid length is answered with a cookie."""

import sys

from wire import FAST_OPEN, MSS, RST, SYN, fast_open, opened

INVALID = (1, 2, 3, 5, 7, 18, 20)  # bytes of cookie: RFC 7413 allows none, or an even 4 to 16


def main():
    wire = opened(__doc__)
    cookie = wire.cookie() * 3
    granted = []
    for size in INVALID:
        connection = wire.connection()
        connection.send(SYN, options=MSS + fast_open(cookie[:size]))
        for segment in connection.received(2.0, until=SYN):
            connection.send(RST, 1)
            if segment.option(FAST_OPEN):
                granted.append(2 + size)
    print(f"options of these lengths were answered with a cookie: {granted}")
    return int(bool(granted))


if __name__ == "__main__":
    sys.exit(main())
