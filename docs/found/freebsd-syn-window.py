"""Shows that the window of a SYN is scaled: more is sent before our ACK than the SYN allows."""

import sys

from wire import MSS, RST, SYN, fast_open, opened, scale

WINDOW, SHIFT = 200, 7


def main():
    wire = opened(__doc__)
    cookie = wire.cookie()
    connection = wire.connection()
    options = MSS + scale(SHIFT) + fast_open(cookie)
    connection.send(SYN, data=b"r" * 1000, options=options, window=WINDOW)
    sent = max((each.seq + len(each.data) - 1 + bool(each.flags & SYN)
                for each in connection.received(0.8)), default=0)  # fmt: skip
    connection.send(RST, 1001)
    print(f"the window of the SYN is {WINDOW}; {sent} bytes came before our ACK")
    return int(sent > WINDOW)


if __name__ == "__main__":
    sys.exit(main())
