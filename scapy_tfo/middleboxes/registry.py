"""The table of all boxes by name."""

from __future__ import annotations

from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.middleboxes import answering, dropping, established, nat, stripping, tampering
from scapy_tfo.middleboxes.box import Box
from scapy_tfo.middleboxes.fuzzed import PREFIX, fuzzed

BOXES: dict[str, type[Box]] = {
    each.name: each
    for each in (
        Box,
        stripping.StripsOptionFromSyn,
        stripping.StripsOptionFromSynAck,
        stripping.StripsOption,
        stripping.StripsSynData,
        dropping.DropsSynWithOption,
        dropping.DropsSynWithData,
        dropping.DropsSynWithOptionAndData,
        dropping.DropsSynWithMuchData,
        dropping.DropsSynAckWithCookie,
        dropping.BlocksFlowAfterSynData,
        dropping.BlocksServerAfterSynData,
        tampering.AcknowledgesLostData,
        tampering.DuplicatesSyn,
        tampering.DelaysSynWithData,
        tampering.SplitsSynData,
        tampering.CutsSynData,
        tampering.RewritesSynData,
        tampering.RewritesCookie,
        answering.ResetsSynWithData,
        answering.ProhibitsSynWithData,
        answering.FindsSynTooBig,
        established.SilencesFlowAfterHandshake,
        established.ResetsAfterHandshake,
        established.DropsServerData,
        established.ShutsWindow,
        established.RewritesServerData,
        established.TracksNoFlowWithSynData,
        nat.SharesAddress,
        nat.ChangesAddress,
    )
}
"""`none` is the box that does nothing."""

HANDSHAKE_BOXES = {name: box for name, box in BOXES.items() if not box.after_handshake}
"""Those that clients are judged behind: a client can do nothing about the others."""


def boxes_named(names: str) -> list[type[Box]]:
    """The boxes of `NAME` or `NAME+NAME`, from the client on; `fuzzed-SEED` has random rules.
    Raises SetupError."""
    found: list[type[Box]] = []
    for each in names.split("+"):
        seed = each.removeprefix(PREFIX)
        if seed != each and seed.isdecimal():
            found.append(fuzzed(int(seed)))
            continue
        if each not in BOXES:
            raise SetupError(
                f"no middlebox '{each}': 'scapy-tfo path --boxes' lists them"
                + did_you_mean(each, BOXES)
            )
        found.append(BOXES[each])
    return found
