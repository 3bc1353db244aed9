"""Shows that Scapy takes a Fast Open cookie of eight bytes apart into two numbers.

Exit status: 0 each cookie is bytes, 1 one is not.
"""

import sys

import scapy
from scapy.layers.inet import TCP


def parsed(size):
    """What Scapy makes of a cookie of so many bytes."""
    option = bytes([34, 2 + size, *range(1, size + 1)])
    option += b"\1" * (-len(option) % 4)
    head = bytearray(bytes(TCP(flags="S")))
    head[12] = (5 + len(option) // 4) << 4
    return TCP(bytes(head) + option).options[0][1]


def main():
    print(f"Scapy {scapy.VERSION}")
    found = {size: parsed(size) for size in (0, 4, 6, 8, 10, 16)}
    for size, cookie in found.items():
        print(f"{size:2} bytes: {cookie!r}")
    return int(any(not isinstance(each, bytes) for each in found.values()))


if __name__ == "__main__":
    sys.exit(main())
