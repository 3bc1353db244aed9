"""Shows that a FIN without ACK ends a half-open connection, and that a byte is lost then."""

import sys

from wire import FIN, MSS, RST, SYN, fast_open, opened

REQUEST = bytes(i % 251 for i in range(1400))


def main():
    wire = opened(__doc__)
    cookie = wire.cookie()
    connection = wire.connection()
    # A window of 1000, so that a part of the answer has to wait for the ACK.
    connection.send(SYN, data=REQUEST, options=MSS + fast_open(cookie), window=1000)
    pieces, end = {}, 1
    taken = None
    for segment in connection.received(4.0):
        if segment.flags & RST:
            break
        if segment.data:
            pieces[segment.seq + bool(segment.flags & SYN)] = segment.data
        end = max(end, segment.seq + len(segment.data) + bool(segment.flags & (SYN | FIN)))
        if taken is None:
            taken = False
            connection.send(FIN, 1401)
        else:
            taken = taken or segment.ack == 1402
            connection.send(0, 1402, end)
    answer = b"".join(pieces[at] for at in sorted(pieces))
    connection.send(RST, 1402)
    print(f"the FIN without ACK was taken: {taken}")
    print(f"the answer has {len(answer)} of {len(REQUEST)} bytes")
    wrong = next((at for at, each in enumerate(answer) if each != REQUEST[at]), None)
    if wrong is not None:
        print(f"byte {wrong} of the answer is {answer[wrong]}, and should be {REQUEST[wrong]}")
    return int(bool(taken))


if __name__ == "__main__":
    sys.exit(main())
