"""Turns connections of a capture into a script that replays them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from scapy_tfo.address import Address
from scapy_tfo.capture.connections import Captured, Connection, End, apart, without_clearing_up
from scapy_tfo.errors import SetupError
from scapy_tfo.icmp import IcmpError
from scapy_tfo.pkt.checks.portable import additions
from scapy_tfo.pkt.export.conversation import Conversation, has_ended
from scapy_tfo.pkt.export.head import head, mtu
from scapy_tfo.pkt.export.inferred_calls import Application
from scapy_tfo.pkt.export.notes import remark
from scapy_tfo.pkt.export.prelude import (
    Origin,
    Spent,
    missing_cookie,
    pause,
    prelude,
    request,
    spent_cookies,
)
from scapy_tfo.pkt.export.timeline import Moment, moments
from scapy_tfo.pkt.export.wishes import Wishes
from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.language.icmp_names import icmp_names
from scapy_tfo.segment import ACK, FIN, SYN, Segment

_MILLISECOND = 1_000_000
_LAST_PORT = 65535


def export(
    connections: Sequence[Connection],
    wishes: Wishes,
    *,
    about: Sequence[str] = (),
    granted: Mapping[bytes, str] | None = None,
    origins: Mapping[bytes, Origin] | None = None,
) -> tree.Script:
    """A script that replays connections, of one target and one peer, at the times they had.

    about: sentences for its head. granted: cookies of the whole capture, and the flow in which each
    came, to say where one is missing. origins: of cookies that were made of others. Raises
    SetupError where no script can say it.
    """
    return _Export(connections, wishes, granted or {}, origins or {}).script(about)


class _Export:
    """One script in the making. assumed: what a reader has to know."""

    def __init__(
        self,
        connections: Sequence[Connection],
        wishes: Wishes,
        granted: Mapping[bytes, str],
        origins: Mapping[bytes, Origin],
    ) -> None:
        self._wishes = wishes
        self._granted = granted
        self._origins = origins
        self._is_server = wishes.side == "server"
        talks = [
            Conversation.of(part, wishes.side, portable=wishes.portable, exact=wishes.exact)
            for each in map(without_clearing_up, connections)
            for part in apart(each, each.server if self._is_server else each.client)
        ]
        self._talks = [each for each in talks if any(each.segments(each.peer))]
        if not self._talks:
            raise SetupError(
                f"nothing was sent to the {wishes.side}, so there is nothing to replay: try the"
                " other --side"
            )
        for talk in self._talks:
            talk.is_literal |= talk.peer.port in wishes.literal
        self._assumed: dict[str, None] = {}
        self._addresses = list(dict.fromkeys(talk.peer.address for talk in self._talks))
        self._refuse_many_ends()
        self._name_ports()
        self._kept: dict[bytes, str] = {}
        self._mss_is_known = mtu(self._talks) is not None
        self._clock = 0
        self._told: set[tuple[int, int]] = set()

    def _refuse_many_ends(self) -> None:
        servers = {each.connection.server for each in self._talks}
        clients = {each.connection.client.address for each in self._talks}
        several = len({each.address for each in servers}) > 1
        if several or (not self._is_server and (len(servers) > 1 or len(clients) > 1)):
            raise SetupError(
                "a script has one server, or one client of one server, but the capture has"
                f" {len(servers)} servers and {len(clients)} clients: choose with --flow"
            )
        if self._is_server and self._wishes.portable and len(self._talks) > 1:
            raise SetupError(
                "packetdrill supports one connection to a listener, but the capture has"
                f" {len(self._talks)}: choose with --flow, or leave out --portable"
            )
        spans = [each.connection.packets for each in self._talks]
        if not self._is_server and any(
            later[0].when < earlier[-1].when for earlier, later in pairwise(spans)
        ):
            raise SetupError("a client's connections must not overlap: choose with --flow")

    def _name_ports(self) -> None:
        """A server's several connections are told apart by their ports."""
        if len(self._talks) == 1 or not self._is_server:
            return
        taken = {talk.peer.port for talk in self._talks}
        free = (port for port in range(_LAST_PORT, 0, -1) if port not in taken)
        used: dict[tuple[End, End], Conversation] = {}
        for talk in self._talks:
            port, ends = talk.peer.port, (talk.peer, talk.target)
            before = used.get(ends)
            # Once a connection has ended, its ports may be used again, as engines know.
            if before is not None and not has_ended(before):
                port = next(free)
                self._assume(f"Port {talk.peer.port} was used again: its next user has {port}.")
            elif before is not None and not before.is_literal:
                talk.base = before.remote_isn if before.base is None else before.base
            used[ends] = talk
            talk.ports = port, talk.target.port
            talk.client = self._client(talk.peer.address)

    def _client(self, address: Address) -> int:
        """The number of the script's address that stands for one."""
        if address not in self._addresses:
            self._addresses.append(address)
        return self._addresses.index(address) + 1

    def _assume(self, sentence: str) -> None:
        self._assumed[sentence] = None

    def script(self, about: Sequence[str]) -> tree.Script:
        """The whole of it."""
        queues = self._wishes.queues
        spent = spent_cookies(self._talks, self._origins) if self._is_server else []
        asked = {each.origin.cookie for each in spent}
        spent += [
            Spent(each, self._talks[0]) for each in self._wishes.asks if each.cookie not in asked
        ]
        granting = () if self._wishes.grants is None or not spent else (self._wishes.grants,)
        application = Application(
            self._talks,
            is_server=self._is_server,
            queues=queues,
            others=granting,
            echoes=self._wishes.echoes,
        )
        timeline = moments(self._talks)
        events = [tree.Event(tree.Time(), each) for each in application.begin()]
        events += self._requests(spent)
        for moment in timeline:
            events += self._events(moment, moment.when - timeline[0].when, application)
        missing = None if self._is_server else missing_cookie(self._talks)
        if missing is not None:
            events[0] = replace(events[0], time=pause())
            events = [*prelude(missing), *events]
            self._assume("An additional first connection gives the client its cookie.")
        events[0] = replace(events[0], time=tree.Time(tree.Clock.AT))
        is_divided = application.has_divided and not (self._wishes.exact or self._wishes.portable)
        lines = head(
            self._talks,
            about,
            self._sentences(),
            is_server=self._is_server,
            is_divided=is_divided,
            turns_on=bool(granting) or any(queues.get(each.target.port) for each in self._talks),
        )
        return tree.Script((*lines, *events))

    def _requests(self, spent: Sequence[Spent]) -> Iterator[tree.Event]:
        """Where the server took a cookie that it gave in another capture, or connection."""
        if not spent:
            return
        if self._wishes.portable:
            self._assume(
                f"The cookie {spent[0].origin.cookie.hex()} is not granted in this script, and a"
                " kernel takes only its own cookies: set its key, or leave out --portable."
            )
            return
        for talk in self._talks:
            talk.ports = talk.ports or (talk.peer.port, talk.target.port)
        taken = {talk.ports[0] for talk in self._talks if talk.ports}
        free = (port for port in range(_LAST_PORT, 0, -1) if port not in taken)
        count = "first connection gives" if len(spent) == 1 else "first connections give"
        self._assume(f"An additional {count} the client its cookie.")
        for each in spent:
            name = self._new_name()
            self._kept[each.origin.cookie] = name
            grants = self._wishes.grants
            client = each.talk.client
            if each.origin.client is not None:
                client = self._client(each.origin.client)
            yield from request(
                name,
                (next(free), grants or each.talk.target.port),
                client,
                len(each.origin.cookie),
                experimental=grants is None and each.experimental,
            )

    def _new_name(self) -> str:
        """Of a cookie that is kept."""
        return f"C{len(self._kept) + 1}" if self._kept else "C"

    def _sentences(self) -> Iterator[str]:
        yield (
            "Assumed: the application reads what was acknowledged, and writes and closes as the"
            " packets show."
        )
        if not self._wishes.exact:
            yield (
                "Left open: the target's windows, their scale, its DSCP, and how it divided its"
                " data (--exact keeps them)."
            )
        cut = [
            packet.number
            for talk in self._talks
            for packet in talk.connection.packets
            if packet.cut
        ]
        if cut:
            shown = ", ".join(map(str, cut[:8])) + (" and more" if len(cut) > 8 else "")
            yield f"Captured in part, with checksums assumed to be right: frames {shown}."
        for text in sorted({text for talk in self._talks for text in talk.dropped}):
            yield f"Left out: {text}."
        yield from self._assumed

    def _events(self, moment: Moment, when: int, application: Application) -> Iterator[tree.Event]:
        packet, talk = moment.packet, moment.talk
        segment = packet.what
        if (id(talk), moment.index) in self._told:
            return
        calls: list[tree.Action] = [
            each for change in packet.changes for each in application.change(change)
        ]
        later: list[tree.Action] = []
        if isinstance(segment, Segment):
            parts: list[int] = []
            if packet.src == talk.target:
                calls += application.before(talk, moment.index, segment)
                if not self._wishes.exact:
                    parts = application.sent_with(talk, moment.index)
            segment, span = self._joined(talk, moment.index, parts)
            shown = talk.packet(packet, segment, exact=self._wishes.exact)
            action: tree.Action = self._with_symbols(shown, segment)
            wait = self._since_last(when)
            time = self._time(moment, wait, span, is_caused=bool(calls))
            later += self._ack_of_a_timer(moment)
            for index in (moment.index, *parts):
                what = talk.connection.packets[index].what
                assert isinstance(what, Segment)
                later += application.after(talk, index, what)
        else:
            action = self._icmp(packet, segment, talk)
            time = tree.Time(earliest=self._since_last(when))
        self._refuse_additions(action, packet)
        for each in calls:
            yield tree.Event(tree.Time(earliest=time.earliest), each)
            latest = None if time.latest is None else time.latest - time.earliest
            time = tree.Time(earliest=0, latest=latest)
        yield tree.Event(time, action, remark(packet.note))
        for each in later:
            yield tree.Event(tree.Time(), each)

    def _joined(self, talk: Conversation, index: int, parts: list[int]) -> tuple[Segment, int]:
        """Packets that are told as one, and ns from the first to the last."""
        first = talk.connection.packets[index]
        assert isinstance(first.what, Segment)
        whole, last = first.what, first.when
        for part in parts:
            self._told.add((id(talk), part))
            packet = talk.connection.packets[part]
            assert isinstance(packet.what, Segment)
            whole = replace(packet.what, seq=whole.seq, payload=whole.payload + packet.what.payload)
            last = packet.when
        return whole, last - first.when

    def _time(self, moment: Moment, wait: int, span: int, *, is_caused: bool) -> tree.Time:
        """When the first event of a packet happens; the packet itself, where there is a range.

        is_caused: by a call that comes first. span: ns that the target took to send all of it.
        """
        took = self._since_last(self._clock + span)
        late = 0 if is_caused else round(moment.late / _MILLISECOND) * _MILLISECOND
        if not late and not took:
            return tree.Time(earliest=wait)
        self._assume(
            "Assumed: what was captured within 35 ms came at once, or at the pace of the kernel's"
            " data, since a busy capture is late."
        )
        return tree.Time(earliest=wait, latest=wait + took + late)

    def _ack_of_a_timer(self, moment: Moment) -> Iterator[tree.Action]:
        """The ACK of a FIN that came with the next packet, and could come before it.

        Where no data came behind the handshake, Linux has not yet worked out for how long to delay
        an ACK, and it is due with the clock's next tick.
        """
        talk, packets = moment.talk, moment.talk.connection.packets
        fin = moment.packet.what
        assert isinstance(fin, Segment)
        is_bare = fin.flags & (SYN | ACK | FIN) == ACK | FIN and not fin.payload
        if self._wishes.portable or moment.packet.src != talk.peer or not is_bare:
            return
        before = [each.what for each in packets[: moment.index] if each.src == talk.peer]
        sent = [each for each in before if isinstance(each, Segment) and each.payload]
        handshake = max((len(each.payload) for each in sent if each.flags & SYN), default=0)
        if any(talk.remote_number(each.end) > handshake for each in sent if each.flags & ACK):
            return
        later = (each for each in packets[moment.index + 1 :] if each.src == talk.target)
        packet = next(later, None)
        answer = packet.what if packet is not None else None
        if packet is None or not isinstance(answer, Segment) or not answer.length:
            return
        if answer.flags & SYN or talk.remote_number(answer.ack) != talk.remote_number(fin.end):
            return
        alone = replace(answer, flags=ACK, payload=b"")
        shown = self._with_symbols(talk.packet(packet, alone, exact=False), alone)
        options = (
            replace(each, value=fields.Wildcard()) if isinstance(each, fields.Timestamps) else each
            for each in shown.options or ()
        )
        yield tree.AnyOf((replace(shown, options=tuple(options), win=None),), or_none=True)

    def _since_last(self, when: int) -> int:
        """ns from the event before, in whole ms, and without adding up what was rounded off."""
        wait = max(round((when - self._clock) / _MILLISECOND), 0) * _MILLISECOND
        self._clock += wait
        return wait

    def _refuse_additions(self, action: tree.Action, packet: Captured) -> None:
        for addition in additions(action) if self._wishes.portable else ():
            raise SetupError(
                f"frame {packet.number} needs {addition}, which packetdrill does not support: leave"
                " out --portable"
            )

    def _with_symbols(self, shown: tree.Packet, segment: Segment) -> tree.Packet:
        """With kept cookies and open values in place of those of the capture."""
        if self._wishes.portable:
            return shown
        outbound = shown.direction is tree.Direction.OUTBOUND
        options = []
        for option in shown.options or ():
            if isinstance(option, fields.FastOpen) and isinstance(option.cookie, bytes):
                option = replace(
                    option, cookie=self._cookie(option.cookie, outbound and segment.is_syn_ack)
                )
            elif outbound and isinstance(option, fields.WindowScale) and not self._wishes.exact:
                option = fields.WindowScale(fields.Wildcard())
            elif outbound and isinstance(option, fields.Mss) and not self._mss_is_known:
                option = fields.Mss(fields.Wildcard())
            options.append(option)
        return replace(shown, options=tuple(options))

    def _cookie(self, cookie: bytes, is_given: bool) -> fields.Cookie:
        if not self._is_server:
            return cookie
        if cookie in self._kept:
            return fields.Variable(self._kept[cookie])
        origin = self._origin(cookie)
        if not is_given and origin.edits and origin.cookie in self._kept:
            return fields.Edited(self._kept[origin.cookie], origin.edits)
        if is_given:
            self._kept[cookie] = name = self._new_name()
            return fields.Wildcard(name)
        if cookie in self._granted:
            self._assume(
                f"The cookie {cookie.hex()} was granted in {self._granted[cookie]}, which is not"
                " part of this script: add it with --flow."
            )
        return cookie

    def _origin(self, cookie: bytes) -> Origin:
        return self._origins.get(cookie, Origin(cookie))

    def _icmp(self, packet: Captured, error: IcmpError, talk: Conversation) -> tree.Icmp:
        inbound = packet.dst == talk.target
        family = talk.connection.family
        kind, code = icmp_names(error.type, error.code, family)
        return tree.Icmp(
            direction=tree.Direction.INBOUND if inbound else tree.Direction.OUTBOUND,
            type=kind,
            code=code,
            mtu=error.mtu or None,
            echoed=talk.quoted(error.quoted) if inbound else None,
            ports=talk.ports if inbound else None,
            client=talk.client if inbound else 1,
        )
