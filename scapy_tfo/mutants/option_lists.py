"""Servers that misread a list of options (RFC 9293 sections 3.1 and 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import FastOpen, RawOption
from scapy_tfo.reference.server import Decision, Listener
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import Segment

_KNOWN = {opt.MSS, opt.WINDOW_SCALE, opt.SACK_PERMITTED, opt.TIMESTAMPS, opt.TFO, opt.EOL, opt.NOP}
_KNOWN |= {opt.EXPERIMENT_1, opt.EXPERIMENT_2}


class _Reads(Listener):
    """A listener that reads a Fast Open option out of other bytes than the list."""

    def block(self, segment: Segment) -> bytes:
        """The options as this listener sees them."""
        raise NotImplementedError

    def read_fast_open(self, segment: Segment) -> FastOpen | None:
        return super().read_fast_open(replace(segment, options=self.block(segment)))


class _Picks(_Reads):
    """A listener that sees only some of the options."""

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        raise NotImplementedError

    def block(self, segment: Segment) -> bytes:
        return opt.push_options(self.pick(opt.pull_options(segment.options)))


def _until(options: Sequence[RawOption], stops: set[int]) -> Sequence[RawOption]:
    """The options before the first whose kind is in stops."""
    at = next((at for at, each in enumerate(options) if each.kind in stops), len(options))
    return options[:at]


# Place and alignment.


@mutant("OPT-5")
class ReadsTheFirstOptionOnly(_Picks):
    """The option is understood only where it comes first."""

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        return options[:1]


@mutant("OPT-5")
class ReadsTheLastOptionOnly(_Picks):
    """The option is understood only where nothing but padding follows."""

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        return [each for each in options if each.kind not in (opt.EOL, opt.NOP)][-1:]


@mutant("OPT-5")
class NopEndsTheList(_Picks):
    """Reading stops at the first NOP."""

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        return _until(options, {opt.NOP})


@mutant("OPT-5")
class ReadsTenOptionsAtMost(_Picks):
    """Reading stops after ten options, each NOP counted."""

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        return options[:10]


@mutant("OPT-5")
class ReadsBehindAnMssOnly(_Picks):
    """A SYN whose first option is not MSS is read no further."""

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        return options if options and options[0].kind == opt.MSS else []


class _ReadsAligned(_Picks):
    """A listener that sees an option only at multiples of `words` bytes."""

    words = 4

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        at, found = 0, []
        for each in options:
            if at % self.words == 0:
                found.append(each)
            at += len(opt.push_options([each]))
        return found


@mutant("OPT-5")
class ReadsAlignedOptionsOnly(_ReadsAligned):
    """The option is understood only at a multiple of four bytes."""


@mutant("OPT-5")
class ReadsAtEvenOffsetsOnly(_ReadsAligned):
    """The option is understood only at an even offset."""

    words = 2


# End of Option List.


@mutant("OPT-10", also=("ACC-4",))
class ReadsBehindTheEnd(_Picks):
    """End of Option List is skipped as if it were NOP."""

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        if options and options[-1].kind == opt.EOL:
            return [*options[:-1], *self.pick(opt.pull_options(options[-1].data))]
        return options


@mutant("OPT-10", also=("OPT-5",))
class EndHidesWhatCameBefore(_Picks):
    """A list that ends a word or more before the header does is not read at all."""

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        return (
            [] if any(each.kind == opt.EOL and len(each.data) > 3 for each in options) else options
        )


# Unknown options.


@mutant("OPT-7", also=("OPT-5", "REL-1"))
class UnknownOptionEndsTheList(_Picks):
    """Reading stops at an option of unknown kind."""

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        return _until(options, {each.kind for each in options} - _KNOWN)


@mutant("OPT-7", also=("REL-1",))
class UnknownOptionsHaveNoLength(_Picks):
    """An option of unknown kind is skipped byte by byte, and its data read as options."""

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        for at, each in enumerate(options):
            if each.kind not in _KNOWN:
                rest = opt.push_options(options[at:])[1:]
                return [*options[:at], *self.pick(opt.pull_options(rest))]
        return options


@mutant("OPT-7", also=("ACC-4",))
class KindsAreComparedInSevenBits(_Picks):
    """The top bit of a kind is lost, so that kind 162 is taken for Fast Open."""

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        return [replace(each, kind=each.kind & 0x7F) for each in options]


@mutant("OPT-7", also=("ACC-4",))
class NextKindIsFastOpenToo(_Picks):
    """Kind 35 is taken for Fast Open as well."""

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        return [replace(each, kind=opt.TFO) if each.kind == 35 else each for each in options]


@mutant("OPT-7", also=("REL-1",))
class DropsSynsWithUnknownOptions(Listener):
    """A SYN with an option of unknown kind is dropped."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if {each.kind for each in opt.pull_options(segment.options)} <= _KNOWN:
            super().syn_arrives(segment, now)


# Malformed lists.


class _Dies(Stack):
    """A host that does nothing any more after one bad option."""

    dead = False

    def kills(self, option: RawOption) -> bool:
        raise NotImplementedError

    def receive(self, packet: bytes, now: float) -> None:
        if not self.dead:
            super().receive(packet, now)

    def segment_arrives(self, segment: Segment, now: float) -> None:
        self.dead = any(self.kills(each) for each in opt.pull_options(segment.options))
        if not self.dead:
            super().segment_arrives(segment, now)


@mutant("OPT-7")
class HangsOnLengthZero(_Dies):
    """An option of length 0 keeps the parser busy for ever."""

    def kills(self, option: RawOption) -> bool:
        return option.length == 0


@mutant("OPT-7")
class CrashesOnLengthOne(_Dies):
    """An option of length 1 has minus one bytes of data, and that is the end."""

    def kills(self, option: RawOption) -> bool:
        return option.length == 1


@mutant("OPT-7")
class CrashesOnLengthsPastTheEnd(_Dies):
    """An option that runs past the header is copied all the same."""

    def kills(self, option: RawOption) -> bool:
        return option.length is not None and option.length > 2 + len(option.data)


@mutant("OPT-7")
class CrashesOnAKindWithoutALength(_Dies):
    """The length of an option is read behind the end of the header."""

    def kills(self, option: RawOption) -> bool:
        return option.length is None and option.kind > opt.NOP


@mutant("OPT-7")
class CrashesOnAWrongDataOffset(Stack):
    """A data offset below 5 makes the options minus some bytes long, and that is the end."""

    dead = False

    def receive(self, packet: bytes, now: float) -> None:
        if not self.dead:
            super().receive(packet, now)

    def is_sound(self, segment: Segment) -> bool:
        self.dead = segment.data_offset is not None and segment.data_offset < 5
        return super().is_sound(segment)


class _TakesLies(Listener):
    """A listener that takes a cookie out of an option whose length byte lies."""

    def told(self, option: RawOption, segment: Segment) -> bytes | None:
        raise NotImplementedError

    def read_fast_open(self, segment: Segment) -> FastOpen | None:
        for option in opt.pull_options(segment.options):
            if option.kind == opt.TFO and not option.is_sound:
                cookie = self.told(option, segment)
                if cookie is not None:
                    return FastOpen(opt.Form.IANA, cookie)
        return super().read_fast_open(segment)


@mutant("OPT-7", also=("ACC-4",))
class LengthBelowTwoIsTheRest(_TakesLies):
    """An option of length 0 or 1 is taken to fill the list, and its first bytes for a cookie."""

    def told(self, option: RawOption, segment: Segment) -> bytes | None:
        return option.data[:8] if option.length in (0, 1) else None


@mutant("OPT-7", also=("ACC-4",))
class LengthPastTheEndIsTheRest(_TakesLies):
    """An option that runs past the header is cut there, and its first bytes taken."""

    def told(self, option: RawOption, segment: Segment) -> bytes | None:
        return option.data[:8] if option.length is not None and option.length > 2 else None


@mutant("OPT-7", also=("ACC-4",))
class CookieGoesOnInThePayload(_TakesLies):
    """A cookie that runs past the header is read on in the payload."""

    def told(self, option: RawOption, segment: Segment) -> bytes | None:
        if option.length is None or option.length < 2:
            return None
        return (option.data + segment.payload)[: option.length - 2]


@mutant("OPT-7")
class KindWithoutALengthIsARequest(_TakesLies):
    """Kind 34 as the very last byte is taken for a request."""

    def told(self, option: RawOption, segment: Segment) -> bytes | None:
        return b"" if option.length is None else None


# More than one option.


@mutant("OPT-8", also=("ACC-3", "ACC-4"))
class HalvesAddUp(Listener):
    """The cookies of two options are joined."""

    def read_fast_open(self, segment: Segment) -> FastOpen | None:
        found = [each for each in segment.fast_open if isinstance(each, FastOpen)]
        cookie = b"".join(each.cookie for each in found)
        return FastOpen(found[0].form, cookie[: opt.MAX_COOKIE]) if found else None


@mutant("OPT-8", also=("ACC-1", "ACC-3", "ACC-4"))
class TwoOptionsConfirmEachOther(Listener):
    """Two options that say the same are accepted without a look at the cookie."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        found = segment.fast_open
        if len(found) == 2 and getattr(found[0], "cookie", 0) == getattr(found[1], "cookie", 1):
            return self.accept(None)
        return super().decide(segment, option, now)


@mutant("OPT-8", also=("ACC-1", "ACC-3", "ACC-4"))
class RequestOutweighsAWrongCookie(Listener):
    """A request beside a cookie counts as the cookie having been checked."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        found = [each for each in segment.fast_open if isinstance(each, FastOpen)]
        if len({each.is_request for each in found}) == 2:
            return self.accept(None)
        return super().decide(segment, option, now)


@mutant("OPT-8", also=("ACC-1",))
class SecondOptionDropsTheSyn(Listener):
    """A SYN with two Fast Open options is dropped."""

    def syn_arrives(self, segment: Segment, now: float) -> None:
        if len(segment.fast_open) < 2:
            super().syn_arrives(segment, now)


# Options of others.


def _kinds(segment: Segment) -> set[int]:
    return {each.kind for each in opt.pull_options(segment.options)}


@mutant("REL-1", also=("ACC-4",))
class ConnectionCountOpensFast(Listener):
    """T/TCP's connection count is taken for leave to accept data in the SYN."""

    def decide(self, segment: Segment, option: FastOpen | None, now: float) -> Decision:
        if option is None and _kinds(segment) & {11, 12, 13}:
            return self.accept(None)
        return super().decide(segment, option, now)


@mutant("REL-1")
class ConnectionCountHidesFastOpen(_Picks):
    """T/TCP's options and Fast Open's are taken to exclude each other."""

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        return [] if any(each.kind in (11, 12, 13) for each in options) else options


@mutant("REL-2", also=("OPT-13", "ACC-4"))
class CookiePairIsFastOpen(_Reads):
    """The cookie pair of TCP Cookie Transactions is taken for a Fast Open cookie."""

    def block(self, segment: Segment) -> bytes:
        found = opt.pull_options(segment.options)
        return opt.push_options(
            replace(each, kind=opt.TFO) if self.is_pair(each) else each for each in found
        )

    def is_pair(self, option: RawOption) -> bool:
        return option.kind == opt.EXPERIMENT_1 and option.data[:2] != opt.EXID.to_bytes(2, "big")


@mutant("REL-2")
class CookiePairHidesFastOpen(_Picks):
    """Fast Open is not read beside the cookie pair of TCP Cookie Transactions."""

    def pick(self, options: Sequence[RawOption]) -> Sequence[RawOption]:
        pair = any(each.kind == opt.EXPERIMENT_1 and len(each.data) == 8 for each in options)
        return [] if pair else options
