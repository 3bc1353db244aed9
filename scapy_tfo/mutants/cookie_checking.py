"""Servers that compare a cookie carelessly (RFC 7413 section 4.1.2)."""

from __future__ import annotations

from typing import Any

from scapy_tfo import option as opt
from scapy_tfo.cookie import Cookies, KeyMatch
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.server import Listener
from scapy_tfo.segment import Segment


class _Compares(Listener):
    """A listener with a comparison of its own."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        raise NotImplementedError

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        right = self.cookies.cookie_for(segment.src, segment.dst)
        if self.equal(right, option.cookie):
            return KeyMatch.PRIMARY
        return super().check_cookie(segment, option)


@mutant("SRV-1", also=("SRV-2", "SRV-10", "ACC-3", "ACC-4"))
class AcceptsAnyCookie(_Compares):
    """Any cookie of a valid size is accepted."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return True


@mutant("SRV-1")
class CookieThatWasGoodIsGoodForAll(Listener):
    """A cookie that was good once is looked up, whoever shows it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._checked: dict[tuple[Cookies, bytes], KeyMatch] = {}

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        if self.cookies.one_time:
            return super().check_cookie(segment, option)
        known = self.cookies, option.cookie
        found = self._checked.get(known) or super().check_cookie(segment, option)
        if found is KeyMatch.PRIMARY:
            self._checked[known] = found
        return found


@mutant("SRV-2", also=("SRV-1", "ACC-3", "ACC-4"))
class AcceptsAnyCookieOfTheRightSize(_Compares):
    """Any cookie is accepted that has as many bytes as the right one."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return len(right) == len(shown)


@mutant("SRV-2", also=("ACC-3", "ACC-4"))
class ComparesFourBytes(_Compares):
    """Only the first four bytes are compared."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return right[:4] == shown[:4] and len(right) == len(shown)


@mutant("SRV-2", also=("ACC-3", "ACC-4"))
class ComparesTheLastFourBytes(_Compares):
    """Only the last four bytes are compared."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return right[-4:] == shown[-4:] and len(right) == len(shown)


@mutant("SRV-2", also=("ACC-3", "ACC-4"))
class IgnoresTheLastByte(_Compares):
    """The comparison stops one byte short."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return right[:-1] == shown[:-1] and len(right) == len(shown)


@mutant("SRV-2", also=("ACC-3", "ACC-4"))
class IgnoresTheFirstByte(_Compares):
    """The comparison begins one byte late."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return right[1:] == shown[1:] and len(right) == len(shown)


@mutant("SRV-2", also=("ACC-3", "ACC-4"))
class IgnoresOneBit(_Compares):
    """One bit in the middle of the cookie is masked out."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        difference = int.from_bytes(right, "big") ^ int.from_bytes(shown, "big")
        return len(right) == len(shown) and difference == 1 << 37


@mutant("SRV-2", also=("ACC-3", "ACC-4"))
class ComparesSevenBitsOfEachByte(_Compares):
    """The top bit of each byte is lost on the way to the comparison."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return bytes(each & 0x7F for each in right) == bytes(each & 0x7F for each in shown)


@mutant("SRV-2", also=("ACC-3", "ACC-4"))
class ComparesTheSetOfBytes(_Compares):
    """The bytes are compared in no order."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return sorted(right) == sorted(shown)


@mutant("SRV-2", also=("ACC-3", "ACC-4"))
class ComparesAChecksum(_Compares):
    """The two halves are xored before they are compared."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        def folded(cookie: bytes) -> bytes:
            return bytes(a ^ b for a, b in zip(cookie[:4], cookie[4:], strict=False))

        return len(right) == len(shown) and folded(right) == folded(shown)


@mutant("SRV-2", also=("ACC-3", "ACC-4"))
class TakesEitherByteOrder(_Compares):
    """A cookie is good backwards too."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return right == shown[::-1]


@mutant("SRV-2", also=("ACC-3", "ACC-4"))
class AcceptsZeros(_Compares):
    """A cookie of zeros, as of a cache entry never written, is accepted."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return not any(shown)


@mutant("SRV-2", also=("ACC-3", "ACC-4"))
class AcceptsOnes(_Compares):
    """A cookie of ones is accepted."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return set(shown) == {0xFF}


@mutant("SRV-2", also=("SRV-10", "ACC-3", "ACC-4"))
class StopsAtAZeroByte(_Compares):
    """Cookies are compared like text, which ends at a zero byte of the one shown."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return right.startswith(shown.partition(b"\0")[0])


@mutant("SRV-10", also=("ACC-3", "ACC-4"))
class AcceptsACookieCutShort(_Compares):
    """As many bytes are compared as the client shows."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return right.startswith(shown)


@mutant("SRV-10", also=("ACC-3", "ACC-4"))
class AcceptsTheEndOfACookie(_Compares):
    """The last bytes of the right cookie are enough."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return right.endswith(shown)


@mutant("SRV-10", also=("ACC-3", "ACC-4"))
class AcceptsAPaddedCookie(_Compares):
    """What follows the right cookie in the option is not looked at."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return shown.startswith(right)


@mutant("SRV-10", also=("ACC-3", "ACC-4"))
class AcceptsACookiePaddedWithZeros(_Compares):
    """Cookies are kept in a field of 16 bytes filled up with zeros, and compared there."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return right.ljust(16, b"\0") == shown.ljust(16, b"\0")


@mutant("SRV-10", also=("ACC-3", "ACC-4"))
class AcceptsACookieBehindPadding(_Compares):
    """The right cookie is found wherever it stands in the option."""

    def equal(self, right: bytes, shown: bytes) -> bool:
        return right in shown


@mutant("SRV-1", also=("ACC-2",))
class RefusesEveryCookie(Listener):
    """The cookies that the server grants are never good."""

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        return KeyMatch.NONE


@mutant("SRV-1", also=("ACC-2",))
class GoodForTwoUsesOnly(Listener):
    """Only the first two uses of a client's cookie are good."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.uses: dict[bytes, int] = {}

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        self.uses[option.cookie] = self.uses.get(option.cookie, 0) + 1
        good = super().check_cookie(segment, option)
        return good if self.uses[option.cookie] <= 2 else KeyMatch.NONE


@mutant("SRV-1", also=("ACC-2",))
class RefusesTheFirstUse(Listener):
    """A cookie is refused the first time that it is shown, and good from then on."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.seen: set[bytes] = set()

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        known = option.cookie in self.seen
        self.seen.add(option.cookie)
        return super().check_cookie(segment, option) if known else KeyMatch.NONE


@mutant("SRV-1", also=("ACC-2",))
class RefusesOnIpv6(Listener):
    """Cookies of IPv6 clients are granted, and never good."""

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        good = super().check_cookie(segment, option)
        return good if segment.src.version == 4 else KeyMatch.NONE


class _Trusts(Listener):
    """A listener that does not look at the cookies of clients that it trusts."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.trusted: set[object] = set()

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        if segment.src in self.trusted:
            return KeyMatch.PRIMARY
        return super().check_cookie(segment, option)


@mutant("SRV-2", also=("SRV-10", "ACC-3", "ACC-4"))
class TrustsAClientThatAsked(_Trusts):
    """Once a client was granted a cookie, it may show any."""

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        if option.is_request:
            self.trusted.add(segment.src)
        return super().grant(segment, option)


@mutant("SRV-2", also=("SRV-10", "ACC-3", "ACC-4"))
class TrustsAClientThatWasAccepted(_Trusts):
    """Once a client's cookie was good, it may show any."""

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        match = super().check_cookie(segment, option)
        if match.is_valid:
            self.trusted.add(segment.src)
        return match


@mutant("OPT-5", also=("SRV-2", "ACC-3", "ACC-4"))
class MisalignedCookieIsNotChecked(Listener):
    """A cookie that does not begin at a multiple of four bytes is compared with itself."""

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        if option.cookie and segment.options.find(option.cookie) % 4:
            return KeyMatch.PRIMARY
        return super().check_cookie(segment, option)


@mutant("SRV-1", also=("ACC-3", "ACC-4"))
class CookieOfTheNextAddressIsGood(Listener):
    """The cookie of the address one above the client's is taken for its own."""

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        found = super().check_cookie(segment, option)
        if found is KeyMatch.NONE:
            return self.cookies.check(option.cookie, segment.src + 1, segment.dst)
        return found
