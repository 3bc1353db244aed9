"""Shows that an ACK with the number of the SYN resets a handshake that is under way."""

import sys

from wire import MSS, RST, SYN, opened


def main():
    wire = opened(__doc__)
    connection = wire.connection()
    connection.send(SYN, options=MSS)
    next(connection.received(2.0, until=SYN))
    connection.send(0, 0, 1)
    reset = any(each.flags & RST for each in connection.received(1.0))
    connection.send(0, 1, 1, data=b"request")
    answered = any(each.data for each in connection.received(1.0))
    connection.send(RST, 8)
    print(f"the ACK at the ISN was answered with RST: {reset}; the connection works: {answered}")
    return int(reset)


if __name__ == "__main__":
    sys.exit(main())
