"""Maps the numbers of a script to those on the wire, and back.

A script counts sequence numbers from each side's ISN, and may give a SYN any ISN.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from scapy_tfo.segment import FIN, SYN, Address, Segment

_MODULUS = 1 << 32
_HALF = 1 << 31


@dataclass(slots=True, eq=False)
class Flow:
    """One connection. local is the kernel under test, remote the script's side.

    remote_port, local_port: as on the wire; the latter None until the kernel's first SYN shows
    it. ports: (remote, local) where the script names them, by its own numbers; client: whose the
    remote one is. remote_isn: the same in the script and on the wire; next_isn: of the last SYN.
    script_isn, live_isn: of the local side, None until seen. stamps: TS val that the script
    expected, to what came. first_stamps: (script, wire) of the first one, first_stamp_at: when it
    came, ns. is_reset: a RST was seen,
    so that the next SYN begins anew. has_remote_fin, has_local_fin: where both were seen, a SYN
    does once the kernel answers it with another ISN. first_isn: of the
    kernel's SYN as it was heard, local_end: behind the last number that it has sent. lives: how
    many connections have had these ports. is_unasked: the script names its ports in no packet that
    it expects.
    """

    local: Address
    remote: Address
    local_port: int | None
    remote_port: int
    ports: tuple[int, int] | None = None
    client: int = 1
    remote_isn: int | None = None
    script_isn: int | None = None
    live_isn: int | None = None
    stamps: dict[int, int] = field(default_factory=dict)
    first_stamps: tuple[int, int] | None = None
    first_stamp_at: int = 0
    flow_labels: tuple[int, int] | None = None
    is_reset: bool = False
    next_isn: int | None = None
    has_remote_fin: bool = False
    has_local_fin: bool = False
    first_isn: int | None = None
    local_end: int | None = None
    lives: int = 1
    is_unasked: bool = False

    def heard(self, segment: Segment) -> None:
        """The kernel sent this."""
        self.is_reset = self.is_reset or segment.is_rst
        is_over = self.has_remote_fin and self.has_local_fin
        if is_over and segment.is_syn_ack and segment.seq != self.live_isn:
            self.begin_anew()
            self.remote_isn = self.next_isn
        self.has_local_fin = self.has_local_fin or bool(segment.flags & FIN)
        if segment.flags & SYN and segment.seq != self.first_isn:
            self.lives += self.first_isn is not None
            self.first_isn, self.local_end = segment.seq, None
        # A RST has the number that it answers, whatever was sent.
        is_news = self.local_end is None or (segment.end - self.local_end) % _MODULUS < _HALF
        if is_news and not segment.is_rst:
            self.local_end = segment.end

    def begin_anew(self) -> None:
        """The next connection between the same ports."""
        self.remote_isn = self.script_isn = self.live_isn = None
        self.stamps.clear()
        self.first_stamps = None
        self.is_reset = self.has_remote_fin = self.has_local_fin = False
        self.lives += 1

    def remote_offset(self, *, syn: bool) -> int:
        """What to add to the script's number of the remote side; syn: of a packet with SYN."""
        return 0 if syn else self.remote_isn or 0

    def local_offset(self, *, syn: bool) -> int:
        """What to add to the script's number of the local side; syn: of a packet with SYN."""
        if self.live_isn is None:
            return 0
        if not syn:
            return self.live_isn
        return (self.live_isn - (self.script_isn or 0)) % _MODULUS

    def live_stamp(self, script: int, *, scaled: bool) -> int | None:
        """What the kernel said for the TS val that the script calls so; None: it said none such.

        scaled: work it out from the first one where it never came.
        """
        live = self.stamps.get(script)
        if live is None and scaled and self.first_stamps is not None:
            live = (script - self.first_stamps[0] + self.first_stamps[1]) % _MODULUS
        return live

    def script_stamp(self, live: int) -> int | None:
        """The script's number for a TS val off the wire, None before the first is known."""
        if self.first_stamps is None:
            return None
        return (live - self.first_stamps[1] + self.first_stamps[0]) % _MODULUS

    def note_stamp(self, script: int, live: int, when: int = 0) -> None:
        """The script expected this TS val, and that one came then, ns."""
        self.stamps[script] = live
        if self.first_stamps is None:
            self.first_stamps = (script, live)
            self.first_stamp_at = when
