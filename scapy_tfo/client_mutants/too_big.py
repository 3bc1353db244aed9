"""Clients that cope badly with a SYN too big for the path (RFC 1191, RFC 8201)."""

from __future__ import annotations

from scapy_tfo.mutants.registry import client_mutant
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.states import State
from scapy_tfo.segment import SYN


class _TooBig(ActiveConnection):
    """It does something of its own when its SYN with data was too big."""

    told = False

    def packet_too_big(self, now: float) -> None:
        if self.state is State.SYN_SENT and self.syn_data:
            self.told = True
            self.cope(now)
        else:
            super().packet_too_big(now)

    def cope(self, now: float) -> None:
        raise NotImplementedError


@client_mutant("CLI-20")
class TooBigEndsTheConnection(_TooBig):
    """A SYN that was too big ends the connection."""

    def cope(self, now: float) -> None:
        self.fail("EMSGSIZE", now)


@client_mutant("CLI-20")
class TooBigIsRepeatedAsItWas(_TooBig):
    """A SYN that was too big goes out again as it was, each time."""

    def cope(self, now: float) -> None:
        self.send_plain_syn(now)

    def send_plain_syn(self, now: float) -> None:
        if not self.told:
            super().send_plain_syn(now)
            return
        data = bytes(self.send.data[: self.syn_data])
        self.transmit(self.send.iss, SYN, now, data, self.syn_options(now))


@client_mutant("CLI-20")
class TooBigLosesTheData(_TooBig):
    """The data of a SYN that was too big is never sent again."""

    def cope(self, now: float) -> None:
        del self.send.data[: self.syn_data]
        self.syn_data = 0
        self.send.sent_syn()
        self.send_plain_syn(now)


@client_mutant("CLI-20")
class TooBigDoublesTheData(_TooBig):
    """The data of a SYN that was too big is sent with the first ACK, and once more behind it."""

    def cope(self, now: float) -> None:
        self.send.data += self.send.data[: self.syn_data]
        self.send_plain_syn(now)


@client_mutant("CLI-20")
class TooBigStopsTheTimer(_TooBig):
    """Behind a SYN that was too big nothing is sent any more."""

    def cope(self, now: float) -> None:
        self.handshake_timer = None


@client_mutant("CLI-20")
class TooBigIsForgottenBehindTheSyn(ActiveConnection):
    """The data of a SYN that was too big goes out again in segments as big."""

    def path_mss(self) -> int:
        return self.mss_offered


@client_mutant("CLI-20")
class TooBigIsForgottenBehindARefusal(ActiveConnection):
    """Refused data that is too big when it comes again is sent as it was, each time."""

    def packet_too_big(self, now: float) -> None:
        if not self.syn_data or self.fast_opened:
            super().packet_too_big(now)


@client_mutant("CLI-20a")
class TooBigWaitsForTheTimer(_TooBig):
    """A SYN that was too big is repeated by the timer only."""

    def cope(self, now: float) -> None:
        pass


@client_mutant("CLI-20a", bug="LXC-08")
class TooBigCountsBelowTheDefaultOnly(_TooBig):
    """Only an MTU below that for the default MSS makes it repeat the SYN at once."""

    def cope(self, now: float) -> None:
        version = self.remote[0].version
        if self.stack.mss_towards(self.remote[0]) < {4: 536, 6: 1220}[version]:
            self.send_plain_syn(now)
