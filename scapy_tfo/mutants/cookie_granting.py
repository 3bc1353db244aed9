"""Servers that hand out cookies wrongly (RFC 7413 sections 4.1.1 and 4.1.2)."""

from __future__ import annotations

from typing import Any

from scapy_tfo import option as opt
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.server import Decision, Listener, PassiveConnection
from scapy_tfo.segment import FIN, Address, Flags, Segment


class _GrantsAnotherSize(Listener):
    """A listener whose cookies have `size` bytes."""

    size = 8

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        cookie = self.cookies.cookie_for(segment.src, segment.dst)
        return opt.fast_open((cookie * 5)[: self.size], form=option.form)


@mutant("OPT-2", also=("SRV-8",))
class GrantsSevenBytes(_GrantsAnotherSize):
    """Granted cookies have seven bytes."""

    size = 7


@mutant("OPT-1", also=("SRV-8",))
class GrantsTwoBytes(_GrantsAnotherSize):
    """Granted cookies have two bytes."""

    size = 2


@mutant("OPT-1", also=("SRV-8",))
class GrantsEighteenBytes(_GrantsAnotherSize):
    """Granted cookies have eighteen bytes."""

    size = 18


@mutant("OPT-2", also=("OPT-1", "SRV-8"))
class GrantsSeventeenBytes(_GrantsAnotherSize):
    """Granted cookies have seventeen bytes, with one for the end of a text."""

    size = 17


@mutant("SRV-9", also=("SRV-8",))
class GrantsNothingInAnOption(_GrantsAnotherSize):
    """A request is answered with an option without a cookie."""

    size = 0


@mutant("SRV-1", also=("SRV-5",))
class LengthCountsTheCookieOnly(Listener):
    """The length byte of a granted option leaves out kind and length."""

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        cookie = self.cookies.cookie_for(segment.src, segment.dst)
        return opt.fast_open(cookie, form=option.form, length=len(cookie))


@mutant("OPT-1")
class LengthIsTooLarge(Listener):
    """The length byte of a granted option is that of the longest cookie."""

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        cookie = self.cookies.cookie_for(segment.src, segment.dst)
        return opt.fast_open(cookie, form=option.form, length=18)


@mutant("SRV-8")
class CookieOnEverySegment(PassiveConnection):
    """A granted cookie is repeated on every segment of the connection."""

    def segment_options(self, now: float, *, payload: bool) -> list[opt.RawOption]:
        more = [] if self.answer is None else [self.answer]
        return super().segment_options(now, payload=payload) + more


@mutant("SRV-8", also=("AFT-6",))
class CookieOnTheFin(PassiveConnection):
    """A granted cookie is repeated on the server's FIN."""

    def transmit(
        self,
        number: int,
        flags: Flags,
        now: float,
        payload: bytes = b"",
        raw_options: list[opt.RawOption] | None = None,
    ) -> None:
        if flags & FIN and self.answer is not None:
            raw_options = [self.answer]
        super().transmit(number, flags, now, payload, raw_options)


@mutant("SRV-8")
class FreshCookieOnceEstablished(PassiveConnection):
    """After an accepted fast open a fresh cookie comes on the first data segments."""

    def segment_options(self, now: float, *, payload: bool) -> list[opt.RawOption]:
        out = super().segment_options(now, payload=payload)
        if self.fast_opened:
            cookie = self.listener.cookies.cookie_for(self.remote[0], self.local[0])
            out.append(opt.fast_open(cookie))
        return out


@mutant("SRV-5", also=("SRV-1",))
class RefusedCookieComesBack(Listener):
    """A refused cookie is sent back as if it were a fresh one."""

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        if option.is_request:
            return super().grant(segment, option)
        return opt.fast_open(option.cookie, form=option.form)


@mutant("SRV-5", also=("SRV-1",))
class FreshCookieIsCutToThePresentedSize(Listener):
    """The cookie beside a refusal has as many bytes as the one refused."""

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        if option.is_request:
            return super().grant(segment, option)
        cookie = self.cookies.cookie_for(segment.src, segment.dst) * 2
        return opt.fast_open(cookie[: len(option.cookie)], form=option.form)


@mutant("SRV-5", also=("SRV-1",))
class FreshCookieIsForAnother(Listener):
    """The cookie beside a refusal is made for the server's own address."""

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        if option.is_request:
            return super().grant(segment, option)
        cookie = self.cookies.cookie_for(segment.dst, segment.dst)
        return opt.fast_open(cookie, form=option.form)


@mutant("SRV-9")
class GrantsNoCookie(Listener):
    """A request gets no cookie, though cookies are checked."""

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        return None if option.is_request else super().grant(segment, option)


@mutant("SRV-9")
class RequestWithDataGetsNoCookie(Listener):
    """A request is granted in an empty SYN only."""

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        return None if segment.payload else super().grant(segment, option)


@mutant("SRV-9")
class GrantsOncePerClient(Listener):
    """A client that was granted a cookie gets none a second time."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.served: set[Address] = set()

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        if segment.src in self.served:
            return None
        self.served.add(segment.src)
        return super().grant(segment, option)


@mutant("SRV-9", also=("ACC-1",))
class RequestIsDropped(Listener):
    """A SYN that asks for a cookie is not answered at all."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if segment.cookie != b"":
            super().syn_arrives(segment, now)


@mutant("ACC-4")
class RequestTakesTheData(Listener):
    """Data beside a cookie request is accepted, as if asking for a cookie were having one."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        decision = super().decide(segment, option, now)
        if option is not None and option.is_request and decision.answer is not None:
            return self.accept(decision.answer)
        return decision
