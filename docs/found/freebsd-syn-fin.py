"""Shows that a SYN with FIN, data and a good cookie is never answered with a SYN-ACK."""

import sys

from wire import FIN, MSS, RST, SYN, fast_open, opened


def main():
    wire = opened(__doc__)
    cookie = wire.cookie()
    connection = wire.connection()
    connection.send(SYN | FIN, data=b"request", options=MSS + fast_open(cookie))
    came = list(connection.received(4.0))
    connection.send(RST, 9)
    shows = bool(came) and not any(each.flags & SYN for each in came)
    print(f"{len(came)} segments came, {sum(bool(each.flags & SYN) for each in came)} with SYN")
    return int(shows)


if __name__ == "__main__":
    sys.exit(main())
