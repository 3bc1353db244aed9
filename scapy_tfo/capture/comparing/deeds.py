"""Names what a path does to the connections between two hosts, by what became of their packets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scapy_tfo.capture.comparing.blocking import after_handshake, blocking
from scapy_tfo.capture.comparing.deed import Deed, Left, told
from scapy_tfo.capture.comparing.fates import (
    COOKIE_CHANGED,
    COPIED,
    DATA_CHANGED,
    DELAYED,
    DROPPED,
    INVENTED,
    OPTION_REMOVED,
    WINDOW_SHUT,
    Fate,
)
from scapy_tfo.capture.comparing.talk import Talk


def deeds_of(talks: Sequence[Talk]) -> list[Deed]:
    """What was done to the connections between two hosts."""
    left = Left(talks)
    found = [*blocking(left), *after_handshake(left), *_answers(left), *_drops(left)]
    found += [*_syn_data(left), *_changes(left), *_copies_and_delays(left), *_others(left)]
    return _joined([*found, *_translation(talks)])


def _answers(left: Left) -> Iterator[Deed]:
    """SYNs that come no further than to a box that answers them."""
    found: dict[str, list[Fate]] = {"resets": [], "prohibits": [], "too big": []}
    for talk in left.talks:
        resets = [each for each in left.of(talk) if each.what == "RST" and each.kind == INVENTED]
        errors = {each.seq: each for each in left.of(talk) if each.what == "ICMP"}
        for fate in left.of(talk):
            error = errors.get(fate.seq) if fate.to_server else None
            if fate.kind != DROPPED or (fate.what != "SYN" and error is None):
                continue
            if error is not None:
                how = "too big" if error.detail == "packet too big" else "prohibits"
                left.explain([fate, error])
            elif resets and not resets[0].to_server:
                how = "resets"
                left.explain([fate, *resets])
            else:
                continue
            if fate.what == "SYN":
                found[how].append(fate)
    spared = [each for each in left.all("SYN", to_server=True) if each.arrived is not None]
    for name, how in (
        ("resets-syn", "are answered by RST on the way"),
        ("prohibits-syn", "are answered by ICMP on the way"),
    ):
        if befallen := found[name.removesuffix("-syn")]:
            yield told(name, "SYN", how, befallen, spared)
    if befallen := found["too big"]:
        least = min(each.bytes for each in befallen)
        says = f"SYNs of {least} bytes are answered by ICMP 'packet too big': {len(befallen)}"
        yield Deed("finds-syn-too-big", says, len(befallen), len(befallen) + len(spared))


def _drops(left: Left) -> Iterator[Deed]:
    for what, to_server, name in (
        ("SYN", True, "drops-syn"),
        ("SYN-ACK", False, "drops-syn-ack"),
        ("data", False, "drops-server-data"),
    ):
        fates = [each for each in left.all(what, to_server=to_server) if each.sent is not None]
        dropped = [each for each in fates if each.kind == DROPPED]
        if not dropped:
            continue
        left.explain(dropped)
        spared = [each for each in fates if each.arrived is not None]
        noun = "data segment of the server" if what == "data" else what
        yield told(name, noun, "are lost here", dropped, spared)


def _syn_data(left: Left) -> Iterator[Deed]:
    """What becomes of the data in SYNs that pass."""
    found: dict[str, list[Fate]] = {name: [] for name in _SYN_DATA}
    spared = []
    for talk in left.talks:
        moved = [each for each in talk.fates if each.what == "SYN-ACK" and _is_moved(each)]
        for fate in left.of(talk):
            if fate.what != "SYN" or fate.arrived is None or fate.sent is None or not fate.size:
                continue
            if fate.came == fate.size and DATA_CHANGED not in fate.changes:
                spared.append(fate)
                continue
            if fate.came == fate.size:
                name = "rewrites-syn-data"
            elif not fate.came:
                name = "acknowledges-lost-data" if moved else "strips-syn-data"
                left.explain(moved)
            else:
                rest = _rest_of(talk, fate)
                name = "splits-syn-data" if rest else "cuts-syn-data"
                left.explain(rest)
            found[name].append(fate)
            if len(fate.changes) == 1:
                left.explain([fate])
    for name, befallen in found.items():
        if befallen:
            of = len(befallen) + len(spared)
            says = f"{_SYN_DATA[name]}: {len(befallen)} of {of} SYNs with data"
            yield Deed(name, says, len(befallen), of)


_SYN_DATA = {
    "rewrites-syn-data": "the data of SYNs arrives changed",
    "strips-syn-data": "SYNs arrive without their data",
    "acknowledges-lost-data": "SYNs arrive without their data, which is acknowledged all the same",
    "splits-syn-data": "a part of a SYN's data arrives in a segment behind it",
    "cuts-syn-data": "SYNs arrive with a part of their data",
}


def _is_moved(fate: Fate) -> bool:
    return any(each.startswith("acknowledgement moved") for each in fate.changes)


def _rest_of(talk: Talk, syn: Fate) -> list[Fate]:
    """The segment that brings what a SYN lost: nobody sent it, or it came before it was sent."""
    return [
        each
        for each in talk.fates
        if each.to_server
        and each.what == "data"
        and each.arrived is not None
        and (each.sent is None or each.delay < 0)
        and (each.seq - syn.seq - 1 - syn.came) % (1 << 32) == 0
    ]


def _changes(left: Left) -> Iterator[Deed]:
    """What of packets that pass is different."""
    for what, to_server, change, name, says in (
        ("SYN", True, OPTION_REMOVED, "strips-option-from-syn", "SYNs lose their option"),
        ("SYN-ACK", False, OPTION_REMOVED, "strips-option-from-syn-ack", "SYN-ACKs lose theirs"),
        ("SYN", True, COOKIE_CHANGED, "rewrites-cookie", "the cookie in SYNs arrives changed"),
        ("data", False, DATA_CHANGED, "rewrites-server-data", "the server's data arrives changed"),
        ("", False, WINDOW_SHUT, "shuts-window", "the server's window arrives as 0"),
    ):
        paired = [
            each
            for each in left.all(what, to_server=to_server)
            if None not in (each.sent, each.arrived)
        ]
        if change == OPTION_REMOVED:
            paired = [each for each in paired if each.option]
        elif change == COOKIE_CHANGED:
            paired = [each for each in paired if each.cookie]
        befallen = [each for each in paired if change in each.changes]
        if befallen:
            left.explain(each for each in befallen if len(each.changes) == 1)
            how = f"{says}: {len(befallen)} of {len(paired)}"
            yield Deed(name, how, len(befallen), len(paired))


def _copies_and_delays(left: Left) -> Iterator[Deed]:
    syns = left.all("SYN", to_server=True)
    copies = [each for each in syns if each.kind == COPIED]
    sent = [each for each in syns if each.sent is not None and each.arrived is not None]
    if copies:
        left.explain(copies)
        says = f"SYNs arrive more than once: {len(copies)} copies of {len(sent)}"
        yield Deed("duplicates-syn", says, len(copies), len(sent))
    late = [each for each in sent if each.delay > DELAYED]
    if late:
        left.explain(late)
        spared = [each for each in sent if each.delay <= DELAYED]
        yield told("delays-syn", "SYN", "are held back", late, spared)


def _others(left: Left) -> Iterator[Deed]:
    """What has no name above, by kind, direction and what it befell."""
    counts: dict[tuple[str, str, bool], int] = {}
    sorts: dict[tuple[str, bool], int] = {}
    for fate in left.all():
        sort = fate.what, fate.to_server
        sorts[sort] = sorts.get(sort, 0) + 1
        for kind in fate.changes or ((fate.kind,) if fate.is_done else ()):
            key = kind, *sort
            counts[key] = counts.get(key, 0) + 1
    for (kind, what, to_server), times in counts.items():
        of = sorts[what, to_server]
        whither = "to the server" if to_server else "to the client"
        yield Deed("other", f"{what} {whither}, {kind}: {times} of {of}", times, of)


def _joined(found: Sequence[Deed]) -> list[Deed]:
    """Both ways of stripping the option are one."""
    names = {each.name for each in found}
    if not {"strips-option-from-syn", "strips-option-from-syn-ack"} <= names:
        return list(found)
    return [
        Deed("strips-option", each.says, each.times, each.of)
        if each.name.startswith("strips-option-from-")
        else each
        for each in found
    ]


def _translation(talks: Sequence[Talk]) -> Iterator[Deed]:
    """Addresses that the server sees in place of the client's own."""
    moved = [each.outside for each in talks if each.outside and each.outside != each.client]
    if not moved:
        return
    several = len(set(moved)) > 1
    name = "changes-address" if several else "shares-address"
    seen = f"{len(set(moved))} addresses" if several else f"the address {moved[0]}"
    says = f"the server sees {seen} in place of the client's own: {len(moved)} connections"
    yield Deed(name, says, len(moved), len(talks))
