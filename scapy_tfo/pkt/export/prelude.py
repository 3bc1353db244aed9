"""Writes the connection that first gives a client the cookie that a script needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scapy_tfo import option as opt
from scapy_tfo.address import Address
from scapy_tfo.pkt.export.calls import close, open_socket, send_fast_open
from scapy_tfo.pkt.export.conversation import Conversation
from scapy_tfo.pkt.language import fields, tree

_WAY = 10_000_000
_AFTERWARDS = 100_000_000
_WINDOW = 65535
_MSS = 1460
_ISN = 1_000_000_000
"""Another than a script's other connections have, in each half: a cookie is not bound to it."""

_IN, _OUT = tree.Direction.INBOUND, tree.Direction.OUTBOUND


def missing_cookie(talks: list[Conversation]) -> opt.FastOpen | None:
    """The first cookie that a client sends and was not given by a server before."""
    given: set[bytes] = set()
    for talk in talks:
        for seen in talk.segments(talk.target):
            for each in seen.what.fast_open:
                if isinstance(each, opt.FastOpen) and each.cookie and seen.what.is_syn:
                    return None if each.cookie in given else each
        given |= {seen.what.cookie or b"" for seen in talk.segments(talk.peer)}
    return None


@dataclass(frozen=True, slots=True)
class Origin:
    """The cookie that one was made of, and what was done to it: see `cookie_edits.EDITS`. client:
    to whom it was given, None: to who spends it."""

    cookie: bytes
    edits: tuple[tuple[str, int], ...] = ()
    client: Address | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """A cookie that was spent before anybody was given it. talk: in which it was. experimental: in
    the form of kind 254."""

    origin: Origin
    talk: Conversation
    experimental: bool = False


def spent_cookies(talks: Sequence[Conversation], origins: Mapping[bytes, Origin]) -> list[Spent]:
    """The first cookie that a server took, with data, and had not given before; and each that was
    made, as is known, of one that it gave elsewhere."""
    given: set[bytes] = set()
    found: dict[bytes, Spent] = {}
    for talk in talks:
        taken = any(
            seen.what.is_syn_ack and talk.remote_number(seen.what.ack) > 0
            for seen in talk.segments(talk.target)
        )
        for seen in talk.segments(talk.peer):
            options = seen.what.fast_open if seen.what.is_syn else ()
            spent = [each for each in options if isinstance(each, opt.FastOpen) and each.cookie]
            made = [each for each in spent if each.cookie in origins]
            for each in made:
                origin = origins[each.cookie]
                if origin.cookie not in given:
                    found.setdefault(origin.cookie, _spent(each, origin, talk))
            is_new = not made and not any(each.cookie in given for each in spent)
            if taken and spent and is_new and not found:
                last = spent[-1]
                found[last.cookie] = _spent(last, Origin(last.cookie), talk)
        given |= {seen.what.cookie or b"" for seen in talk.segments(talk.target)}
    return list(found.values())


def _spent(option: opt.FastOpen, origin: Origin, talk: Conversation) -> Spent:
    return Spent(origin, talk, option.form is not opt.Form.IANA)


def request(
    name: str, ports: tuple[int, int], client: int, size: int, *, experimental: bool
) -> Iterator[tree.Event]:
    """A connection in which a server gives its client a cookie, kept as `name`.

    ports: the client's, the server's. client: number of its address. size: of the cookie that it
    gives, in bytes.
    """
    head = 4 if experimental else 2
    asked: tuple[fields.TcpOption, ...] = (fields.Mss(_MSS), fields.FastOpen(None, experimental))
    asked += (fields.Nop(),) * (-head % 4)
    given: tuple[fields.TcpOption, ...] = (
        fields.Mss(fields.Wildcard()),
        fields.FastOpen(fields.Wildcard(name), experimental),
    )
    given += (fields.Nop(),) * (-(head + size) % 4)
    for direction, flags, number, ack, options in (
        (_IN, "S", _ISN, None, asked),
        (_OUT, "S.", 0, _ISN + 1, given),
        (_IN, "R", 1, None, ()),
    ):
        packet = _packet(direction, flags, number, ack, options)
        named = ports if direction is _IN else ports[::-1]
        yield tree.Event(tree.Time(), replace(packet, ports=named, client=client))


def prelude(cookie: opt.FastOpen) -> Iterator[tree.Event]:
    """The events of it; a quarter of a second, and its descriptor is free again."""
    experimental = cookie.form is not opt.Form.IANA
    given = fields.FastOpen(cookie.cookie, experimental)
    padding = -(len(cookie.cookie) + (4 if experimental else 2)) % 4
    options: tuple[fields.TcpOption, ...] = (fields.Mss(_MSS), given)
    options += (fields.Nop(),) * padding
    yield from _at(0, *open_socket(3), send_fast_open(3, 0))
    yield from _at(0, _packet(_OUT, "S", 0, None, None))
    yield from _at(_WAY, _packet(_IN, "S.", 0, 1, options))
    yield from _at(0, _packet(_OUT, ".", 1, 1, None))
    yield from _at(_WAY, close(3))
    yield from _at(0, _packet(_OUT, "F.", 1, 1, None))
    yield from _at(_WAY, _packet(_IN, "F.", 1, 2, ()))
    yield from _at(0, _packet(_OUT, ".", 2, 2, None))


def pause() -> tree.Time:
    """From the end of it to what comes next."""
    return tree.Time(earliest=_AFTERWARDS)


def _at(time: int, *actions: tree.Action) -> Iterator[tree.Event]:
    for action in actions:
        yield tree.Event(tree.Time(earliest=time), action)
        time = 0


def _packet(
    direction: tree.Direction,
    flags: str,
    seq: int,
    ack: int | None,
    options: tuple[fields.TcpOption, ...] | None,
) -> tree.Packet:
    return tree.Packet(
        direction=direction,
        flags=flags,
        range=tree.Range(seq, seq, 0),
        ack=ack,
        win=_WINDOW if direction is _IN else None,
        options=options,
    )
