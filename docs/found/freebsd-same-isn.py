"""Shows that a connection that was reset is opened again by its own late segments."""

import sys

from wire import MSS, PSH, RST, SYN, opened


def main():
    wire = opened(__doc__)
    connection = wire.connection()
    connection.send(SYN, options=MSS)
    next(connection.received(2.0, until=SYN))
    connection.send(PSH, 1, 1, data=b"request")
    first = sum(len(each.data) for each in connection.received(0.5))
    connection.send(RST, 8)
    list(connection.received(0.2))
    iss = connection.iss
    # Copies of the SYN and of the request, which the path had kept.
    connection.send(SYN, options=MSS)
    next(connection.received(2.0, until=SYN))
    same = connection.iss == iss
    connection.iss = iss
    connection.send(PSH, 1, 1, data=b"request")
    second = sum(len(each.data) for each in connection.received(0.5))
    connection.send(RST, 8)
    print(f"the same ISN: {same}; bytes echoed: {first}, and by the copies: {second}")
    return int(same)


if __name__ == "__main__":
    sys.exit(main())
