"""Shows that a repeated SYN of an open connection reaches a second socket, which resets it."""

import sys

from wire import ACK, MSS, PSH, RST, SYN, opened


def main():
    wire = opened(__doc__)
    earlier, connection = wire.connection(), wire.connection()
    earlier.quiet = True
    for each in (earlier, connection):
        each.send(SYN, options=MSS)
        next(each.received(2.0, until=SYN))
        each.send(0, 1, 1)
    # The socket before that of the connection listens again.
    earlier.send(RST, 1)
    list(connection.received(0.5))
    iss = connection.iss
    connection.send(SYN, options=MSS)
    answers = list(connection.received(0.5))
    again = any(each.flags & (SYN | ACK) == SYN | ACK for each in answers)
    connection.iss = iss
    connection.send(PSH, 1, 1, data=b"request")
    came = list(connection.received(1.0))
    echoed = any(each.data == b"request" for each in came)
    reset = any(each.flags & RST for each in came)
    connection.send(RST, 8)
    print(f"the SYN got another SYN-ACK: {again}; then text is echoed: {echoed}, reset: {reset}")
    return int(again)


if __name__ == "__main__":
    sys.exit(main())
