"""Shows that text is taken from a segment that acknowledges what was never sent."""

import sys

from wire import PSH, RST, established


def main():
    connection = established(__doc__)
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
