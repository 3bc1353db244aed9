"""Shows that a Fast Open option of invalid length is not ignored."""

import sys

from wire import FAST_OPEN, MSS, RST, SYN, fast_open, opened

INVALID = (1, 2, 3, 5, 7, 18)  # bytes of cookie: RFC 7413 allows none, or an even 4 to 16


def main():
    wire = opened(__doc__)
    cookie = wire.cookie() * 3
    silent, granted = [], []
    for size in INVALID:
        connection = wire.connection()
        connection.send(SYN, options=MSS + fast_open(cookie[:size]))
        came = list(connection.received(2.0, until=SYN))
        connection.send(RST, 1)
        if not came:
            silent.append(2 + size)
        elif came[-1].option(FAST_OPEN):
            granted.append(2 + size)
    connection = wire.connection()
    print()
    connection.send(SYN, options=MSS)
    next(connection.received(2.0, until=SYN))
    connection.send(0, 1, 1)
    connection.send(0, 1, 1, data=b"request", options=fast_open(bytes(3)))
    ignored = any(each.data for each in connection.received(2.0))
    connection.send(RST, 8)
    print(f"SYNs with options of these lengths got no answer: {silent}")
    print(f"SYNs with options of these lengths got a cookie: {granted}")
    print(f"text with an option of length 5 was taken: {ignored}")
    return int(bool(silent or granted) or not ignored)


if __name__ == "__main__":
    sys.exit(main())
