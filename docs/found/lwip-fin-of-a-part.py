"""Shows that a segment with FIN which is cut for a small window keeps the FIN in its first part."""

import sys

from wire import FIN, MSS, PSH, RST, SYN, opened

REQUEST = b"r" * 100


def main():
    wire = opened(__doc__)
    connection = wire.connection()
    connection.send(SYN, options=MSS, window=60)
    next(connection.received(2.0, until=SYN))
    connection.send(PSH | FIN, 1, 1, data=REQUEST, window=60)
    fins = []
    # The answer and its FIN: of the last segment the window takes five bytes, and then the rest.
    for ack, window in (61, 30), (91, 5), (96, 60):
        for each in connection.received(2.0 if ack > 91 else 0.3):
            if each.flags & FIN:
                fins.append(each.seq + len(each.data) - 1)
        connection.send(0, 102, ack, window=window)
    for each in connection.received(1.0):
        if each.flags & FIN:
            fins.append(each.seq + len(each.data) - 1)
    connection.send(RST, 102)
    print(f"of {len(REQUEST)} bytes of answer, FIN came behind {' and '.join(map(str, fins))}")
    return int(len(set(fins)) > 1)


if __name__ == "__main__":
    sys.exit(main())
