"""Recipes for single SYNs: the bytes that many packets share, and the answers allowed to them."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from scapy_tfo import option as opt
from scapy_tfo.oracle.parts.handshake import SynRule
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.oracle.parts.syn import syn_rule
from scapy_tfo.packet import Ends, build, flags_of
from scapy_tfo.program.cookies import Client, Jar
from scapy_tfo.program.options import Offer, Times, offer_of, render
from scapy_tfo.program.payload import text
from scapy_tfo.program.program import Flow, Option, Program, Send, Wait
from scapy_tfo.segment import ACK, FIN, RST, SYN

TCP = struct.Struct("!HHIIHHHH")
"""The fixed part of a TCP header."""

_HEADERS = {4: 20, 6: 40}
_MASK = 0xFFFFFFFF
_SIGNED = frozenset((opt.MD5, 29))
"""A segment signed with a key that the target has not may be dropped (RFC 2385, RFC 5925 7.3)."""
_ACK_NUMBER = 0x01020304
"""Acknowledged by a SYN that has ACK set."""

Answer = tuple[int, int, bytes]
"""Offset and flags as they stand, bytes of text acknowledged, options without TSval and TSecr."""


@dataclass(slots=True)
class Template:
    """Segments of one kind to one port, which differ in source port and sequence number."""

    head: bytes
    dport: int
    ack: int
    word: int
    window: int
    tail: bytes
    base: int

    @classmethod
    def of(
        cls,
        client: bytes,
        target: bytes,
        dport: int,
        flags: int,
        ack: int = 0,
        window: int = 65535,
        options: bytes = b"",
        payload: bytes = b"",
    ) -> Template:
        """client, target: packed addresses."""
        packet = build(Ends(client, target, 0, dport), 0, ack, flags, window, options, payload)
        at = _HEADERS[4 if len(client) == 4 else 6]
        _, _, _, _, word, _, checksum, _ = TCP.unpack_from(packet, at)
        base = ~checksum & 0xFFFF
        return cls(packet[:at], dport, ack, word, window, packet[at + TCP.size :], base)

    def packet(self, sport: int, seq: int) -> bytes:
        """The packet from a source port and with a sequence number."""
        # One's complement addition is addition modulo 2**16 - 1 (RFC 1071).
        checksum = ~((self.base + sport + seq) % 0xFFFF) & 0xFFFF
        fixed = TCP.pack(sport, self.dport, seq, self.ack, self.word, self.window, checksum, 0)
        return self.head + fixed + self.tail


@dataclass(slots=True)
class Recipe:
    """A SYN but for its source port and ISN, and what may answer it.

    rule: None where it opens nothing. Then the only answer is a RST, which acknowledges
    `rst_ack` numbers from the ISN on, or has the number `rst_seq`; or none at all, where both
    are None. owed: silence is wrong. fine: answers that were found to be right before.
    """

    options: tuple[Option, ...]
    letters: str
    size: int
    port: str
    client: Client
    syn: Template
    offer: Offer
    rule: SynRule | None
    owed: bool = False
    rst_ack: int | None = None
    rst_seq: int | None = None
    fine: set[Answer] = field(default_factory=set)

    @property
    def pends(self) -> bool:
        """Whether it may leave a fast open pending, which is better finished than reset."""
        return self.rule is not None and self.rule.early

    def program(self, isn: int) -> Program:
        """The same SYN as a program."""
        ack = _ACK_NUMBER if "." in self.letters else None
        step = Send(0, self.letters, 0, ack, self.size, options=self.options)
        flow = Flow(self.client[0], self.client[1], self.port, isn)
        return Program((flow,), (step, Wait()), "reset", "volley")

    def fault(self, answer: Answer, echoes: bool, seq: int, jar: Jar) -> str:
        """What is wrong with a first answer that acknowledges; "" for nothing.

        echoes: its TSecr, if any, is our TSval. seq: as it stands.
        """
        word, taken, options = answer
        flags = word & 0x3F
        if self.rule is None:
            return self._fault_of_reset(flags, taken, seq)
        if flags != SYN | ACK:
            return "" if not self.rule.owed and flags & RST else f"flags {flags:#x}"
        rule = self.rule
        if not rule.least <= taken <= rule.most:
            return f"{taken} bytes acknowledged, not {rule.least} to {rule.most}"
        return self._fault_of_options(options, rule, echoes, jar)

    def _fault_of_reset(self, flags: int, taken: int, seq: int) -> str:
        if not flags & RST or flags & SYN:
            return f"flags {flags:#x} where nothing is open"
        if self.rst_seq is not None:
            return "" if seq == self.rst_seq and not flags & ACK else f"RST with number {seq}"
        if self.rst_ack is None:
            return "a RST in answer to a RST"
        if flags & ACK and (taken + 1) & _MASK == self.rst_ack:
            return ""
        return f"RST acknowledges {taken} bytes"

    def _fault_of_options(self, options: bytes, rule: SynRule, echoes: bool, jar: Jar) -> str:
        theirs = offer_of(options)
        if theirs.unsound or theirs.ended:
            return "malformed options"
        if (theirs.scale is not None and self.offer.scale is None) or not echoes:
            return "an option that was not offered"
        if theirs.sack and not self.offer.sack:
            return "an option that was not offered"
        if not theirs.fast_open:
            return "no cookie" if rule.granting else ""
        if len(theirs.fast_open) > 1:
            return "two Fast Open options"
        each = theirs.fast_open[0]
        if not isinstance(each, opt.FastOpen) or each.is_request:
            return "a Fast Open option that grants nothing"
        if each.form not in rule.forms:
            return f"a Fast Open option of kind {int(each.form)}"
        return "" if jar.is_good(self.client, each.cookie) else "another cookie than before"


def cook(
    options: tuple[Option, ...],
    letters: str,
    size: int,
    port: str,
    client: Client,
    ends: tuple[bytes, bytes, int],
    jar: Jar,
    profile: Profile,
    now: int,
) -> Recipe | None:
    """A recipe; None where it takes a cookie that nobody was granted, or does not fit the link.

    ends: packed addresses of client and target, and the target's port. now: our clock in
    milliseconds.
    """
    block = render(options, Times(now & _MASK, 0), jar, client, {})
    if block is None:
        return None
    room = profile.mtu - _HEADERS[client[0]] - TCP.size - len(block)
    size = min(size, room)
    flags = flags_of(letters)
    payload = text(0, 1, size)
    ack = _ACK_NUMBER if flags & ACK else 0
    syn = Template.of(*ends, flags, ack, options=block, payload=payload)
    offer = offer_of(block)
    made = Recipe(options, letters, size, port, client, syn, offer, None)
    if flags & RST:
        return made
    if flags & ACK:
        made.rst_seq = ack
        made.owed = True
    elif port == "closed":
        made.rst_ack = 1 + size + bool(flags & FIN)
        made.owed = True
    else:
        made.rule = syn_rule(flags, offer, size, port, client, jar, profile, options)
        made.owed = made.rule.owed
    made.owed = made.owed and not offer.unsound and not _SIGNED & set(offer.strange)
    return made
