"""Servers that refuse a SYN's data badly, or take data that they must not (RFC 7413 3, 4.2.2)."""

from __future__ import annotations

from scapy_tfo import seq
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.server import Decision, Listener, PassiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import Accepted, Event
from scapy_tfo.segment import Segment


class _Refuses(PassiveConnection):
    """A connection that does something else with a SYN whose cookie is wrong."""

    def refuse(self, syn: Segment) -> None:
        """Before the SYN-ACK goes out."""
        raise NotImplementedError

    def open_slowly(self, syn: Segment, now: float) -> None:
        if syn.cookie and self.listener.fast_open_enabled:
            self.refuse(syn)
        super().open_slowly(syn, now)


@mutant("ACC-3", also=("ACC-4", "ACC-10"))
class RefusedDataIsAcknowledged(_Refuses):
    """Data beside a wrong cookie is acknowledged, and dropped."""

    def refuse(self, syn: Segment) -> None:
        self.recv.nxt = seq.add(self.recv.nxt, len(syn.payload))


@mutant("ACC-3", also=("ACC-4", "ACC-10"))
class RefusedDataIsDelivered(_Refuses):
    """Data beside a wrong cookie is delivered at once, though not acknowledged."""

    def refuse(self, syn: Segment) -> None:
        self.fast_opened = True
        self.tell(Accepted(self, self.listener))
        self.deliver(syn.payload)


@mutant("ACC-3")
class RefusedDataLeaks(_Refuses):
    """Data beside a wrong cookie stays in the buffer, behind the first byte that comes anew."""

    def refuse(self, syn: Segment) -> None:
        if len(syn.payload) > 1:
            self.recv.take(seq.add(syn.seq, 2), syn.payload[1:])


@mutant("ACC-3", also=("ACC-4", "ACC-10", "AFT-1"))
class RefusedDataHasItsPlace(_Refuses):
    """Data sent again after a refusal is taken for old: acknowledged, and dropped."""

    skip = 0

    def refuse(self, syn: Segment) -> None:
        self.skip = len(syn.payload)

    def deliver(self, data: bytes) -> None:
        super().deliver(data[self.skip :])
        self.skip = max(0, self.skip - len(data))


@mutant("ACC-3", also=("ACC-1",))
class WrongCookieDropsTheSyn(Listener):
    """A SYN with a wrong cookie is dropped."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        option = self.read_fast_open(segment)
        if option is None or option.is_request or self.check_cookie(segment, option).is_valid:
            super().syn_arrives(segment, now)


@mutant("ACC-3", also=("ACC-1",))
class WrongCookieResets(Listener):
    """A SYN with a wrong cookie is reset."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        option = self.read_fast_open(segment)
        if option is None or option.is_request or self.check_cookie(segment, option).is_valid:
            super().syn_arrives(segment, now)
        else:
            self.stack.refuse(segment)


@mutant("ACC-3", also=("ACC-4", "ACC-10", "AFT-1"))
class RefusedConnectionIsNeverAccepted(_Refuses):
    """A connection that was refused its fast open completes its handshake, and no more."""

    refused = False

    def refuse(self, syn: Segment) -> None:
        self.refused = bool(syn.payload)

    def text_arrives(self, segment: Segment, start: int, now: float) -> None:
        if not self.refused:
            super().text_arrives(segment, start, now)


@mutant("ACC-3")
class AckBringsRefusedDataBack(_Refuses):
    """A bare ACK after a refusal delivers the SYN's data, which was kept."""

    kept = b""

    def refuse(self, syn: Segment) -> None:
        self.kept = syn.payload

    def establish(self, now: float) -> None:
        super().establish(now)
        self.take_text(self.recv.nxt, self.kept, False)


@mutant("ACC-3", also=("ACC-4", "ACC-10", "AFT-1"))
class DataBesideTheAckOfARefusalIsLost(_Refuses):
    """Data that comes with the ACK after a refusal is acknowledged, and dropped."""

    refused = False

    def refuse(self, syn: Segment) -> None:
        self.refused = bool(syn.payload)

    def deliver(self, data: bytes) -> None:
        super().deliver(b"" if self.refused and data else data)
        self.refused = self.refused and not data


@mutant("ACC-3", also=("SRV-2", "ACC-4"))
class SecondTryIsDeliveredAtOnce(Listener):
    """A wrong cookie that comes a second time from the same client is accepted."""

    def decide_cookie(self, segment: Segment, option: FastOpen) -> Decision:
        shown = (segment.src, option.cookie)
        again = shown == getattr(self, "last", None)
        self.last = shown
        return self.accept(None) if again else super().decide_cookie(segment, option)


@mutant("ACC-4")
class PlainDataIsAccepted(Listener):
    """Data in a SYN without any option is accepted."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        if option is None and segment.payload and self.fast_open_enabled:
            return self.accept(None)
        return super().decide(segment, option, now)


class _PlainData(PassiveConnection):
    """A connection that does something else with the data of a SYN without a cookie."""

    def keep(self, payload: bytes) -> None:
        raise NotImplementedError

    def open_slowly(self, syn: Segment, now: float) -> None:
        if syn.payload and not syn.cookie:
            self.keep(syn.payload)
        super().open_slowly(syn, now)


@mutant("ACC-4", also=("ACC-1", "ACC-10"))
class PlainDataIsAcknowledgedAndLost(_PlainData):
    """Data in a SYN without a cookie is acknowledged, and dropped."""

    def keep(self, payload: bytes) -> None:
        self.recv.nxt = seq.add(self.recv.nxt, len(payload))


@mutant("ACC-4", also=("ACC-1",))
class PlainDataIsDeliveredEarly(_PlainData):
    """Data in a SYN without a cookie is acknowledged, and delivered before the handshake ends."""

    handed_over = False

    def keep(self, payload: bytes) -> None:
        self.tell(Accepted(self, self.listener))
        self.take_text(self.recv.nxt, payload, False)

    def tell(self, event: Event) -> None:
        if not (self.handed_over and isinstance(event, Accepted)):
            super().tell(event)
        self.handed_over = True


@mutant("ACC-4", also=("ACC-10",))
class PlainDataIsKeptAndTakenAgain(_PlainData):
    """Data in a SYN without a cookie is kept, not acknowledged, and delivered beside its like."""

    kept = b""

    def keep(self, payload: bytes) -> None:
        self.kept = payload

    def establish(self, now: float) -> None:
        super().establish(now)
        self.deliver(self.kept)


@mutant("ACC-4")
class KeptDataOutlivesTheHandshake(_PlainData):
    """Data kept from a SYN without a cookie is delivered even if the handshake is reset."""

    kept = b""

    def keep(self, payload: bytes) -> None:
        self.kept = payload
        self.recv.nxt = seq.add(self.recv.nxt, len(payload))

    def establish(self, now: float) -> None:
        super().establish(now)
        self.deliver(self.kept)

    def reset_by_peer(self, now: float) -> None:
        self.tell(Accepted(self, self.listener))
        self.deliver(self.kept)
        super().reset_by_peer(now)


# Fast open that nobody asked for, or without a cookie.


@mutant("ACC-1")
class FastOpenIsOnByDefault(Listener):
    """A listener has fast open on, whether or not the application asked."""

    @property
    def fast_open_enabled(self) -> bool:
        return True

    def below_limit(self, segment: Segment, now: float) -> bool:
        return self.pending.limit == 0 or super().below_limit(segment, now)


class _WhenOff(Listener):
    """A listener that still reads options while fast open is off."""

    def decide_when_off(self, segment: Segment, option: FastOpen) -> Decision | None:
        raise NotImplementedError

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        decision = None
        if option is not None and not self.fast_open_enabled:
            decision = self.decide_when_off(segment, option)
        return decision or super().decide(segment, option, now)


@mutant("ACC-1")
class GrantsCookiesWhenOff(_WhenOff):
    """A listener with fast open off answers cookie requests."""

    def decide_when_off(self, segment: Segment, option: FastOpen) -> Decision | None:
        return Decision(answer=self.grant(segment, option)) if option.is_request else None


@mutant("ACC-1")
class GrantsExperimentalCookiesWhenOff(_WhenOff):
    """A listener with fast open off answers requests in the experimental form."""

    def decide_when_off(self, segment: Segment, option: FastOpen) -> Decision | None:
        known = option.is_request and option.form != 34
        return Decision(answer=self.grant(segment, option)) if known else None


@mutant("ACC-1")
class HonoursCookiesWhenOff(_WhenOff):
    """A listener with fast open off accepts data with the cookie of another listener."""

    def decide_when_off(self, segment: Segment, option: FastOpen) -> Decision | None:
        good = bool(option.cookie) and self.check_cookie(segment, option).is_valid
        return self.accept(None) if good else None


@mutant("ACC-1")
class HonoursCookiesWithoutDataWhenOff(_WhenOff):
    """A listener with fast open off hands a valid cookie's connection over before the ACK."""

    def decide_when_off(self, segment: Segment, option: FastOpen) -> Decision | None:
        good = bool(option.cookie) and self.check_cookie(segment, option).is_valid
        return self.accept(self.grant(segment, option)) if good and not segment.payload else None


@mutant("ACC-1")
class RefusesWithACookieWhenOff(_WhenOff):
    """A listener with fast open off answers a cookie with a fresh one."""

    def decide_when_off(self, segment: Segment, option: FastOpen) -> Decision | None:
        return Decision(answer=self.grant(segment, option)) if option.cookie else None


@mutant("ACC-1", also=("ACC-4",))
class TakesAnyDataWhenOff(Listener):
    """A listener with fast open off delivers the data of any SYN before the ACK."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        if not self.fast_open_enabled and segment.payload:
            return self.accept(None)
        return super().decide(segment, option, now)


@mutant("ACC-1")
class DropsOptionsWhenOff(Listener):
    """A listener with fast open off drops a SYN that has the option."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if self.fast_open_enabled or not segment.fast_open:
            super().syn_arrives(segment, now)


@mutant(
    "OPT-11",
    also=("SRV-1", "SRV-2", "ACC-3", "ACC-4"),
    settings=Settings(cookieless=True),
)
class TakesDataWithoutAnyCookie(Stack):
    """Data in a SYN is accepted whatever the option, and no cookies are made."""


@mutant("ACC-4", also=("OPT-11",))
class TakesDataWithAnEmptyCookie(Listener):
    """Data in a SYN is accepted beside a request."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        asks = self.fast_open_enabled and option is not None and option.is_request
        if asks and segment.payload and self.below_limit(segment, now):
            return self.accept(None)
        return super().decide(segment, option, now)
