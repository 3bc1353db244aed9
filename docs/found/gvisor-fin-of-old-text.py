"""Shows that a FIN is ignored where all text beside it came before."""

import sys

from wire import FIN, PSH, RST, established


def main():
    connection = established(__doc__)
    connection.send(PSH, 1, 1, data=b"a request")
    list(connection.received(0.5))
    connection.send(0, 10, 10)
    connection.send(PSH | FIN, 1, 10, data=b"a request")
    answers = list(connection.received(2.0))
    connection.send(RST, 10)
    most = max((each.ack for each in answers), default=10)
    print(f"acknowledged: {most} of 11")
    return int(most < 11)


if __name__ == "__main__":
    sys.exit(main())
