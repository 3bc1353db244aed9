"""Servers that do not ignore an option of invalid length (RFC 7413 section 4.1.1)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import FastOpen, RawOption
from scapy_tfo.reference.server import Decision, Listener
from scapy_tfo.segment import Segment


class _Lenient(Listener):
    """A listener that makes sense of a broken option of kind 34, where no valid one came."""

    def lenient(self, option: RawOption, segment: Segment) -> bytes | None:
        """The cookie that is read, b"" for a request, None to ignore the option."""
        raise NotImplementedError

    def read_fast_open(self, segment: Segment) -> FastOpen | None:
        found = super().read_fast_open(segment)
        for option in opt.pull_options(segment.options):
            if found is None and option.kind == opt.TFO:
                cookie = self.lenient(option, segment)
                found = None if cookie is None else FastOpen(opt.Form.IANA, cookie)
        return found


def _starts(option: RawOption, right: bytes) -> bytes | None:
    """The right cookie, where the option's bytes are its beginning."""
    return right if right.startswith(option.data) else None


class _ComparesAsManyAsCame(_Lenient):
    """A listener that takes a cookie of `size` bytes, too short a one, by its few bytes."""

    size = 0

    def lenient(self, option: RawOption, segment: Segment) -> bytes | None:
        if len(option.data) != self.size:
            return None
        return _starts(option, self.cookies.cookie_for(segment.src, segment.dst))


@mutant("OPT-3", also=("SRV-10", "ACC-4"))
class TakesACookieOfOneByte(_ComparesAsManyAsCame):
    """An option of length 3 is taken if its byte is the first of the right cookie."""

    size = 1


@mutant("OPT-3", also=("SRV-10", "ACC-4"))
class TakesACookieOfTwoBytes(_ComparesAsManyAsCame):
    """An option of length 4 is taken if its bytes are the first of the right cookie."""

    size = 2


@mutant("OPT-3", also=("SRV-10", "ACC-4"))
class TakesACookieOfThreeBytes(_ComparesAsManyAsCame):
    """An option of length 5 is taken if its bytes are the first of the right cookie."""

    size = 3


class _TooShortIsARequest(_Lenient):
    """A listener to which an option of `length` is a request."""

    length = 0

    def lenient(self, option: RawOption, segment: Segment) -> bytes | None:
        return b"" if option.length == self.length else None


@mutant("OPT-3")
class Length3IsARequest(_TooShortIsARequest):
    """An option of length 3 is taken for a cookie request."""

    length = 3


@mutant("OPT-3")
class Length4IsARequest(_TooShortIsARequest):
    """An option of length 4 is taken for a cookie request."""

    length = 4


@mutant("OPT-3")
class Length5IsARequest(_TooShortIsARequest):
    """An option of length 5 is taken for a cookie request."""

    length = 5


@mutant("OPT-3", also=("SRV-10", "ACC-4"))
class RoundsOddLengthsDown(_Lenient):
    """The last byte of a cookie of odd length is left out."""

    def lenient(self, option: RawOption, segment: Segment) -> bytes | None:
        size = len(option.data)
        return option.data[:-1] if size % 2 and 4 < size < opt.MAX_COOKIE else None


@mutant("OPT-3", also=("SRV-10", "ACC-4"))
class CutsLongCookies(_Lenient):
    """Of an even length above 18, as many bytes as a cookie has are taken."""

    def lenient(self, option: RawOption, segment: Segment) -> bytes | None:
        size = len(self.cookies.cookie_for(segment.src, segment.dst))
        long = len(option.data) > opt.MAX_COOKIE and not len(option.data) % 2
        return option.data[:size] if long else None


@mutant("OPT-3", also=("SRV-10", "ACC-4"))
class CutsLongOddCookies(_Lenient):
    """Of an odd length above 18, as many bytes as a cookie has are taken."""

    def lenient(self, option: RawOption, segment: Segment) -> bytes | None:
        size = len(self.cookies.cookie_for(segment.src, segment.dst))
        long = len(option.data) > opt.MAX_COOKIE and len(option.data) % 2
        return option.data[:size] if long else None


@mutant("OPT-3")
class TakesCookiesOfEighteenBytes(_Lenient):
    """The range ends one too late: 18 bytes of cookie are allowed, not 18 of option."""

    def lenient(self, option: RawOption, segment: Segment) -> bytes | None:
        return option.data if len(option.data) == opt.MAX_COOKIE + 2 else None


@mutant("OPT-3")
class ShortCookieIsRefusedWithAFreshOne(_Lenient):
    """An option of length 3 to 5 is taken for a wrong cookie, and answered with the right one."""

    def lenient(self, option: RawOption, segment: Segment) -> bytes | None:
        return b"\0" * 4 if 0 < len(option.data) < opt.MIN_COOKIE else None


@mutant("OPT-3")
class OddCookieIsRefusedWithAFreshOne(_Lenient):
    """An option of odd length is taken for a wrong cookie, and answered with the right one."""

    def lenient(self, option: RawOption, segment: Segment) -> bytes | None:
        return b"\0" * 4 if len(option.data) % 2 else None


@mutant("OPT-3")
class LongCookieIsRefusedWithAFreshOne(_Lenient):
    """An option above 18 bytes is taken for a wrong cookie, and answered with the right one."""

    def lenient(self, option: RawOption, segment: Segment) -> bytes | None:
        return b"\0" * 4 if len(option.data) > opt.MAX_COOKIE else None


def _has_length(segment: Segment, lengths: range) -> bool:
    return any(
        each.kind == opt.TFO and each.is_sound and each.length in lengths
        for each in opt.pull_options(segment.options)
    )


class _DropsTheSyn(Listener):
    """A listener that drops a SYN for the length of its option."""

    lengths = range(0)

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if not _has_length(segment, self.lengths):
            super().syn_arrives(segment, now)


@mutant("OPT-3")
class DropsSynsOfLength3(_DropsTheSyn):
    """A SYN is dropped for an option of length 3."""

    lengths = range(3, 4)


@mutant("OPT-3")
class DropsSynsOfLength4(_DropsTheSyn):
    """A SYN is dropped for an option of length 4."""

    lengths = range(4, 5)


@mutant("OPT-3")
class DropsSynsOfLength5(_DropsTheSyn):
    """A SYN is dropped for an option of length 5."""

    lengths = range(5, 6)


@mutant("OPT-3")
class DropsSynsOfOddLength(_DropsTheSyn):
    """A SYN is dropped for an option of odd length between 7 and 17."""

    lengths = range(7, 18, 2)


@mutant("OPT-3")
class DropsSynsOfLengthsAbove18(_DropsTheSyn):
    """A SYN is dropped for an option of an even length above 18."""

    lengths = range(20, 41, 2)


@mutant("OPT-3")
class DropsSynsOfOddLengthsAbove18(_DropsTheSyn):
    """A SYN is dropped for an option of an odd length above 18."""

    lengths = range(19, 41, 2)


@mutant("OPT-1", also=("ACC-1", "ACC-3"))
class DropsShortCookies(_DropsTheSyn):
    """A SYN is dropped for a cookie shorter than the server's own, though of valid length."""

    lengths = range(6, 10, 2)


@mutant("OPT-1", also=("ACC-1", "ACC-3"))
class DropsLongCookies(_DropsTheSyn):
    """A SYN is dropped for a cookie longer than the server's own, though of valid length."""

    lengths = range(12, 19, 2)


@mutant("OPT-3")
class ResetsOnInvalidLength(Listener):
    """A SYN with an option of invalid length is reset."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if any(isinstance(each, opt.Broken) for each in segment.fast_open):
            self.stack.refuse(segment)
        else:
            super().syn_arrives(segment, now)


@mutant("OPT-3", also=("ACC-1", "ACC-4"))
class InvalidLengthTakesTheData(Listener):
    """Data beside an option of invalid length is accepted, as if it had been checked."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        if option is None and any(isinstance(each, opt.Broken) for each in segment.fast_open):
            return self.accept(None)
        return super().decide(segment, option, now)


@mutant("ACC-1", also=("OPT-3",))
class MalformedOptionsAreAnsweredWhenOff(Listener):
    """With fast open off, an option of illegal length is answered with a cookie."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        if self.fast_open_enabled or not any(
            isinstance(each, opt.Broken) for each in segment.fast_open
        ):
            return super().decide(segment, option, now)
        return Decision(answer=self.grant(segment, FastOpen(opt.Form.IANA, b"")))
