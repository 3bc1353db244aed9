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
    "client-syn-data": (
        "eighteen-bytes-in-the-syn",
        "five-hundred-bytes-in-the-syn",
        "half-of-the-data-in-the-syn",
    ),
    "client-syn-retries": ("repeats-the-syn-ten-times",),
    "client-syn-time": ("repeats-the-syn-after-three-seconds", "times-the-syn-by-the-round-trip"),
    "client-timestamps": ("offers-no-timestamps",),
    "client-tsecr": ("echoes-something-in-the-syn",),
    "client-window-scale": ("offers-no-window-scale",),
    "ecn-offered": ("offers-ecn", "offers-ecn-again"),
}

ROWS: tuple[str, ...] = (
    "111111111111111111111101",
    "122010101012201012021012",
    "021101010100210103110110",
    "010110011002111003101012",
    "001101100111000112020111",
    "102001010102010001011102",
    "112011101010110100120110",
    "120000001111201111100001",
    "102011110001101003020001",
    "121010111002001110110002",
    "110001110000101112111100",
    "012101110101201110001102",
    "001000011000201011120112",
    "111001011002011102100100",
    "120001101012001113120101",
    "121001101000101111110101",
    "121001111001101111110100",
    "121001111001101110110101",
)
