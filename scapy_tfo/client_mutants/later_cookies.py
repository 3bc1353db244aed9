"""Clients that mishandle a later cookie or MSS (RFC 7413 4.1.1, 4.2.1 step 3 and 4.2.2)."""

from __future__ import annotations

from typing import Any

from scapy_tfo import option as opt
from scapy_tfo.mutants.registry import client_mutant
from scapy_tfo.option import MAX_COOKIE, Broken, FastOpen, Form
from scapy_tfo.reference.cache import Cache
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.segment import Address, Segment


class _Forgetting(ActiveConnection):
    """It can drop the cookie that it has of its server."""

    def drop_cookie(self) -> None:
        self.stack.cache.look_up(self.local[0], self.remote[0]).cookie = b""

    def keep_cookie(self, cookie: bytes) -> None:
        self.stack.cache.learn(self.local[0], self.remote[0], cookie=cookie)


@client_mutant("CLI-7")
class FirstCookieStays(Cache):
    """A new cookie does not replace the one at hand."""

    def learn(self, client: Address, server: Address, **news: Any) -> None:
        if self.look_up(client, server).cookie:
            news.pop("cookie", None)
        super().learn(client, server, **news)


@client_mutant("CLI-7")
class CookieOfAnAcceptanceIsMissed(ActiveConnection):
    """A new cookie is not read where the SYN-ACK acknowledges the data."""

    accepted = False

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        self.accepted = segment.ack == self.send.nxt and self.syn_data > 0
        super().syn_ack_arrives(segment, now)

    def read_cookie(self, segment: Segment) -> FastOpen | None:
        return None if self.accepted else super().read_cookie(segment)


@client_mutant("CLI-7")
class CookieOfARefusalIsMissed(ActiveConnection):
    """A new cookie is not kept where the SYN-ACK refuses the data, so that it fails each time."""

    refused_data = False

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        self.refused_data = segment.ack != self.send.nxt
        super().syn_ack_arrives(segment, now)

    def read_cookie(self, segment: Segment) -> FastOpen | None:
        found = super().read_cookie(segment)
        if found is None or not self.refused_data:
            return found
        return FastOpen(found.form, self.cached.cookie)


@client_mutant("CLI-7")
class NewCookieMustBeAsLong(ActiveConnection):
    """A new cookie replaces the one at hand only where it is as long."""

    def read_cookie(self, segment: Segment) -> FastOpen | None:
        found = super().read_cookie(segment)
        old = self.cached.cookie
        return None if found and old and len(found.cookie) != len(old) else found


@client_mutant("CLI-7")
class FirstMssStays(Cache):
    """A new MSS does not replace the one at hand."""

    def learn(self, client: Address, server: Address, **news: Any) -> None:
        known = self.look_up(client, server).mss
        super().learn(client, server, **(news | {"mss": known or news.get("mss")}))


@client_mutant("CLI-7")
class MssComesWithACookieOnly(ActiveConnection):
    """The MSS of a SYN-ACK that grants no cookie does not replace the one at hand."""

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        entry = self.stack.cache.look_up(self.local[0], self.remote[0])
        known = entry.mss
        super().learn(segment, accepted, now)
        if known is not None and self.read_cookie(segment) is None:
            entry.mss = known


@client_mutant("CLI-7")
class OnlySmallerMssIsKept(Cache):
    """A new MSS replaces the one at hand only where it is smaller."""

    def learn(self, client: Address, server: Address, **news: Any) -> None:
        known, mss = self.look_up(client, server).mss, news.get("mss")
        if known is not None and mss is not None:
            news["mss"] = min(known, mss)
        super().learn(client, server, **news)


@client_mutant("CLI-14", bug="BSD-14")
class InvalidCookieSpoilsTheCached(_Forgetting):
    """A cookie of invalid length makes it forget the one at hand."""

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        super().learn(segment, accepted, now)
        if any(isinstance(each, Broken) for each in segment.fast_open):
            self.drop_cookie()


@client_mutant("CLI-14")
class EmptyOptionSpoilsTheCached(_Forgetting):
    """An empty option in a SYN-ACK makes it forget the cookie at hand."""

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        super().learn(segment, accepted, now)
        if self.syn_data and segment.cookie == b"":
            self.drop_cookie()


class _Indulgent(_Forgetting):
    """It takes some cookies whose length is invalid."""

    def takes(self, cookie: bytes) -> bool:
        raise NotImplementedError

    def kept_of(self, cookie: bytes) -> bytes:
        return cookie

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        super().learn(segment, accepted, now)
        for raw in opt.pull_options(segment.options):
            sound = raw.kind == Form.IANA and raw.is_sound
            if self.tried and sound and self.takes(raw.data):
                self.keep_cookie(self.kept_of(raw.data))


@client_mutant("CLI-14")
class OddCookieIsTaken(_Indulgent):
    """A cookie of odd length is taken."""

    def takes(self, cookie: bytes) -> bool:
        return len(cookie) % 2 == 1 and 4 <= len(cookie) <= MAX_COOKIE


@client_mutant("CLI-14")
class ShortCookieIsTaken(_Indulgent):
    """A cookie of less than four bytes is taken."""

    def takes(self, cookie: bytes) -> bool:
        return 0 < len(cookie) < 4


@client_mutant("CLI-14")
class TooLongCookieIsCutAndTaken(_Indulgent):
    """Of a cookie of more than 16 bytes the first 16 are taken."""

    def takes(self, cookie: bytes) -> bool:
        return len(cookie) > MAX_COOKIE

    def kept_of(self, cookie: bytes) -> bytes:
        return cookie[:MAX_COOKIE]


@client_mutant("CLI-14")
class OddCookieEndsTheBackOff(ActiveConnection):
    """A cookie of odd length beside a refusal counts as the new one that explains it."""

    def read_cookie(self, segment: Segment) -> FastOpen | None:
        for raw in opt.pull_options(segment.options):
            if raw.kind == Form.IANA and raw.is_sound and len(raw.data) % 2:
                return FastOpen(Form.IANA, raw.data)
        return super().read_cookie(segment)


@client_mutant("CLI-14")
class LengthOfACookieIsNotRead(_Forgetting):
    """Whatever length an option says, the eight bytes behind it are taken."""

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        super().learn(segment, accepted, now)
        at = segment.options.find(bytes([Form.IANA]))
        cookie = segment.options[at + 2 : at + 10]
        if self.tried and at >= 0 and len(cookie) == 8:
            self.keep_cookie(cookie)


@client_mutant("CLI-14")
class FirstOptionCounts(_Forgetting):
    """Of two options the first is taken, whatever its length."""

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        super().learn(segment, accepted, now)
        every = [each for each in opt.pull_options(segment.options) if each.kind == Form.IANA]
        if len(every) > 1:
            self.keep_cookie(every[0].data)


@client_mutant("CLI-14")
class InvalidCookieDropsTheSynAck(ActiveConnection):
    """A SYN-ACK with a cookie of invalid length is not taken at all."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        if not any(isinstance(each, Broken) for each in segment.fast_open):
            super().syn_ack_arrives(segment, now)


@client_mutant("CLI-14")
class InvalidCookieEndsTheConnection(ActiveConnection):
    """A SYN-ACK with a cookie of invalid length ends the connection."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        if any(isinstance(each, Broken) for each in segment.fast_open):
            self.refuse_ack(segment.ack)
            self.fail("ECONNREFUSED", now)
        else:
            super().syn_ack_arrives(segment, now)


@client_mutant("CLI-14")
class CookieOnDataIsTaken(_Forgetting):
    """A cookie on a segment with data replaces the one at hand."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if segment.payload and segment.cookie:
            self.keep_cookie(segment.cookie)
        super().other_arrives(segment, now)


@client_mutant("CLI-14")
class CookieOnAckIsTaken(_Forgetting):
    """A cookie on an ACK without data replaces the one at hand."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if not segment.payload and not segment.is_fin and segment.cookie:
            self.keep_cookie(segment.cookie)
        super().other_arrives(segment, now)


@client_mutant("CLI-14")
class CookieOnFinIsTaken(_Forgetting):
    """A cookie on a FIN replaces the one at hand."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if segment.is_fin and segment.cookie:
            self.keep_cookie(segment.cookie)
        super().other_arrives(segment, now)


@client_mutant("CLI-14")
class CookieOnRstIsTaken(_Forgetting):
    """A cookie on a RST replaces the one at hand."""

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.is_rst and segment.cookie:
            self.keep_cookie(segment.cookie)
        super().arrive(segment, now)


@client_mutant("CLI-14")
class CookieOnRstIsGranted(_Forgetting):
    """A RST with a cookie in answer to a request grants it, and is no negative answer."""

    granted = False

    def arrive(self, segment: Segment, now: float) -> None:
        if segment.is_rst and segment.cookie and self.requested:
            self.granted = True
            self.keep_cookie(segment.cookie)
        super().arrive(segment, now)

    def fails_path(self, error: str) -> bool:
        return super().fails_path(error) and not self.granted


@client_mutant("CLI-14")
class OptionBehindTheHandshakeResets(ActiveConnection):
    """A Fast Open option on a segment without SYN resets the connection."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if segment.fast_open and not segment.is_syn_ack:
            self.abort(now)
        else:
            super().other_arrives(segment, now)


@client_mutant("CLI-25")
class RepeatedSynAckSpoilsTheCookie(_Forgetting):
    """A SYN-ACK that comes again without a cookie makes it forget the one at hand."""

    def other_arrives(self, segment: Segment, now: float) -> None:
        if segment.is_syn_ack and not segment.cookie:
            self.drop_cookie()
        super().other_arrives(segment, now)
