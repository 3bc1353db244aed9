"""Shows that text is taken from a segment that acknowledges what was never sent."""

import sys

from wire import MSS, PSH, RST, SYN, opened


def main():
    wire = opened(__doc__)
    connection = wire.connection()
    connection.send(SYN, options=MSS)
    next(connection.received(2.0, until=SYN))
    connection.send(0, 1, 1)
    connection.send(PSH, 1, 5001, data=b"forged text")
    list(connection.received(0.5))
    connection.send(PSH, 1, 1, data=b"the request")
    echo = b"".join(each.data for each in connection.received(1.0))
    connection.send(RST, 12)
    # Text that comes again has the same numbers as before.
    print(f"the echo: {echo[:11].decode()}")
    return int(echo.startswith(b"forged"))


if __name__ == "__main__":
    sys.exit(main())
