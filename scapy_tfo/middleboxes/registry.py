"""The table of all boxes by name."""

from __future__ import annotations

from scapy_tfo.errors import SetupError, did_you_mean
from scapy_tfo.middleboxes import answering, dropping, nat, stripping, tampering
from scapy_tfo.middleboxes.box import Box

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
        nat.SharesAddress,
        nat.ChangesAddress,
    )
}
"""`none` is the box that does nothing."""


def boxes_named(names: str) -> list[type[Box]]:
    """The boxes of `NAME` or `NAME+NAME`, from the client on. Raises SetupError."""
    found = []
    for each in names.split("+"):
        if each not in BOXES:
            raise SetupError(
                f"no middlebox '{each}': 'scapy-tfo path --boxes' lists them"
                + did_you_mean(each, BOXES)
            )
        found.append(BOXES[each])
    return found
