"""Shows which ACKs end a handshake with SYN data, sent as after a SYN-ACK that was lost."""

import sys

from wire import FIN, MSS, PSH, RST, SYN, fast_open, opened

FORMS = {
    "an ACK at RCV.NXT": [(0, 8, b"")],
    "the SYN data once more": [(PSH, 1, b"request")],
    "old and new text": [(PSH, 4, b"uestmore")],
    "an ACK with FIN": [(FIN, 8, b"")],
}
"""What the client sends for each: flags, SEQ, text."""


def main():
    wire = opened(__doc__)
    answered = {}
    for form, segments in FORMS.items():
        cookie = wire.cookie()
        connection = wire.connection()
        print(form)
        connection.send(SYN, data=b"request", options=MSS + fast_open(cookie))
        next(connection.received(2.0, until=SYN))
        for flags, seq, data in segments:
            connection.send(flags, seq, 1, data=data)
        answered[form] = any(each.data for each in connection.received(2.5))
        connection.send(RST, 8)
    for form, came in answered.items():
        print(f"{form}: the answer {'came' if came else 'did not come'}")
    return int(not all(answered.values()))


if __name__ == "__main__":
    sys.exit(main())
