"""A coverage-guided campaign on the codec: libFuzzer, by way of atheris, finds the bytes.

    pip install 'scapy-tfo[atheris]'
    mkdir corpus; python fuzz/codec_atheris.py -max_total_time=60 corpus

Options are libFuzzer's. An empty corpus gets some packets of the grammar to begin with. Bytes that
break a law are left in a file crash-*, which is run again by giving it instead of the corpus. The
laws are those of `scapy_tfo.fuzz.codec_laws`.
"""

from __future__ import annotations

import sys
from pathlib import Path

try:
    import atheris
except ImportError:
    sys.exit("codec_atheris: there is no atheris: pip install 'scapy-tfo[atheris]'")

with atheris.instrument_imports(include=["scapy_tfo"]):
    from scapy_tfo.fuzz import codec_laws
    from scapy_tfo.fuzz.captures import fuzzed

_OPTIONS, _PACKET = 0, 1


def check(data: bytes) -> None:
    """The first byte chooses: an options field, or a packet."""
    if data[:1] == bytes((_OPTIONS,)):
        codec_laws.check_options(data[1:])
    else:
        codec_laws.check_packet(data[1:])


def main() -> None:
    corpora = [Path(each) for each in sys.argv[1:] if Path(each).is_dir()]
    if corpora and not any(corpora[0].iterdir()):
        for number, each in enumerate(fuzzed(300)):
            (corpora[0] / f"{number:04}").write_bytes(bytes((_PACKET,)) + each.data)
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
