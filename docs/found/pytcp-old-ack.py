"""Shows whether text is taken whose acknowledgement an ACK on another way has overtaken."""

import sys

from wire import PSH, RST, established

TEXT = b"request"


def main():
    connection = established(__doc__)
    connection.send(PSH, 1, 1, data=TEXT)
    answer = sum(len(each.data) for each in connection.received(0.5))
    connection.send(0, 1 + len(TEXT), 1 + answer)
    print("text that was sent before this ACK")
    connection.send(PSH, 1 + len(TEXT), 1, data=TEXT)
    came = any(each.data for each in connection.received(2.5))
    connection.send(RST, 1 + 2 * len(TEXT))
    print(f"the answer {'came' if came else 'did not come'}")
    return int(not came)


if __name__ == "__main__":
    sys.exit(main())
