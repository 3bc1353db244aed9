"""Which variants the rows of the covering array join; scripts/variant_rows.py made it.

LEVELS: the variants of each freedom, by its id. ROWS: a digit for each freedom, in their
order: 0 for the reference's choice, else the number of the variant, from 1.
"""

from __future__ import annotations

LEVELS: dict[str, tuple[str, ...]] = {
    "client-ack-with-data": ("acknowledges-before-new-data",),
    "client-asks-again": ("asks-again-after-a-minute", "asks-again-after-an-hour"),
    "client-cookie-life": ("cookie-lives-an-hour", "remembers-four-servers"),
    "client-cookie-scope": ("cookie-stays-at-its-port",),
    "client-data-at-request": ("asks-with-data",),
    "client-data-in-ack": ("acknowledges-before-refused-data",),
    "client-forgets": ("forgets-who-grants-nothing",),
    "client-form": ("asks-in-the-experimental-form",),
    "client-mss-cache": ("remembers-no-mss",),
    "client-mss-cap": ("uses-a-large-mss",),
    "client-off-scope": ("leaves-all-ports-alone",),
    "client-off-time": ("never-tries-again", "tries-again-after-a-minute"),
    "client-port": ("takes-ports-in-order", "takes-the-first-free-port"),
    "client-rst-check": ("believes-the-exact-rst",),
    "client-sack": ("offers-no-sack",),
    "client-soft-error": ("soft-errors-end-the-attempt",),
    "client-syn-again": ("repeats-the-whole-syn",),
    "client-syn-data": ("half-of-the-data-in-the-syn",),
    "client-syn-retries": ("repeats-the-syn-ten-times",),
    "client-syn-time": ("repeats-the-syn-after-three-seconds", "times-the-syn-by-the-round-trip"),
    "client-timestamps": ("offers-no-timestamps",),
    "client-tsecr": ("echoes-something-in-the-syn",),
    "client-window-scale": ("offers-no-window-scale",),
    "ecn-offered": ("offers-ecn", "offers-ecn-again"),
}

ROWS: tuple[str, ...] = (
    "111111111111111111111101",
    "122010101012201010120112",
    "021101010100210101011010",
    "010101100112100110001112",
    "002101011001011001120011",
    "101010010102010110110002",
    "112010101000110101021100",
    "120010010111201001001101",
    "111001101010010010101001",
    "000110101011110010111000",
    "112010000112201001110000",
    "101010100110201001121102",
    "122010000112110001100001",
    "120010000111010001121102",
)
