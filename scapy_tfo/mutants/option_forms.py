"""Servers that confuse kind 34 and the experimental form (RFC 7413 section 9, RFC 6994)."""

from __future__ import annotations

from collections.abc import Callable

from scapy_tfo import option as opt
from scapy_tfo.cookie import KeyMatch
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import FastOpen, Form, RawOption
from scapy_tfo.reference import options
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import Segment

_EXID = opt.EXID.to_bytes(2, "big")


class _AnswersIn(Listener):
    """A listener that answers in a form of its own choice."""

    form: Callable[[Form], Form]

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        return super().grant(segment, option._replace(form=type(self).form(option.form)))


@mutant("OPT-6")
class AnswersInTheExperimentalForm(_AnswersIn):
    """A request of kind 34 is answered in the experimental form."""

    @staticmethod
    def form(asked: Form) -> Form:
        return Form.EXPERIMENT_2 if asked is Form.IANA else asked


@mutant("OPT-6a")
class AnswersInKind34(_AnswersIn):
    """A request in the experimental form is answered with kind 34."""

    @staticmethod
    def form(asked: Form) -> Form:
        return Form.IANA


@mutant("OPT-6a")
class AnswersKind253WithKind254(_AnswersIn):
    """A request of kind 253 is answered with kind 254."""

    @staticmethod
    def form(asked: Form) -> Form:
        return Form.EXPERIMENT_2 if asked is Form.EXPERIMENT_1 else asked


@mutant("OPT-6a")
class CookieDependsOnTheForm(Listener):
    """A cookie is good only in the form that it was granted in, each form having its own."""

    def turned(self, cookie: bytes, form: Form) -> bytes:
        return cookie if form is Form.IANA else cookie[::-1]

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        cookie = self.cookies.cookie_for(segment.src, segment.dst)
        return opt.fast_open(self.turned(cookie, option.form), form=option.form)

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        shown = self.turned(option.cookie, option.form)
        return super().check_cookie(segment, option._replace(cookie=shown))


@mutant("ACC-3", also=("OPT-6a", "SRV-1", "SRV-2", "ACC-4"))
class ExperimentalCookieIsNotChecked(Listener):
    """Any cookie in the experimental form is good."""

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        if option.form is not Form.IANA:
            return KeyMatch.PRIMARY
        return super().check_cookie(segment, option)


@mutant("OPT-12")
class AnswersInBothForms(PassiveConnection):
    """A granted cookie comes in kind 34 and in the experimental form at once."""

    def syn_ack_options(self, now: float) -> list[opt.RawOption]:
        out = super().syn_ack_options(now)
        if self.answer is not None and not self.handshake_retries:
            other = Form.EXPERIMENT_2 if self.answer.kind == opt.TFO else Form.IANA
            both = [*out, opt.fast_open(self.answer.data[-8:], form=other)]
            return both if options.fits(both) else out
        return out


@mutant("OPT-12", also=("ACC-8",))
class AnswersEachFormThatAsked(PassiveConnection):
    """A SYN that asks in both forms is answered in both."""

    both = False

    def __init__(self, stack: Stack, listener: Listener, syn: Segment, now: float) -> None:
        super().__init__(stack, listener, syn, now)
        self.both = len({each.form for each in syn.fast_open}) > 1

    def syn_ack_options(self, now: float) -> list[opt.RawOption]:
        out = super().syn_ack_options(now)
        if self.both and self.answer is not None:
            out.append(opt.fast_open(self.answer.data[-8:]))
        return out


@mutant("OPT-6a")
class ExperimentalFormIsLost(Listener):
    """The experimental form is asked for and answered, but a cookie in it is not read."""

    def read_fast_open(self, segment: Segment) -> FastOpen | None:
        found = super().read_fast_open(segment)
        lost = found is not None and found.form is not Form.IANA and not found.is_request
        return None if lost else found


class _TakesOtherExperiments(Listener):
    """A listener that takes other experimental options for Fast Open."""

    def cookie_in(self, data: bytes) -> bytes | None:
        """The cookie in the option's data, None to leave the option alone."""
        raise NotImplementedError

    def meant(self, option: RawOption) -> RawOption:
        if option.kind in (opt.EXPERIMENT_1, opt.EXPERIMENT_2) and option.data[:2] != _EXID:
            cookie = self.cookie_in(option.data)
            if cookie is not None:
                return opt.fast_open(cookie, form=Form(option.kind))
        return option

    def read_fast_open(self, segment: Segment) -> FastOpen | None:
        found = super().read_fast_open(segment)
        for option in opt.pull_options(segment.options):
            judged = None if found else opt.judge(self.meant(option))
            found = judged if isinstance(judged, FastOpen) else found
        return found


@mutant("OPT-13", also=("ACC-4", "REL-2"))
class TakesAnyExperiment(_TakesOtherExperiments):
    """Every experimental option is taken for Fast Open, whatever its number."""

    def cookie_in(self, data: bytes) -> bytes | None:
        return data[2:] if len(data) >= 2 else None


@mutant("OPT-13", also=("ACC-4",))
class ComparesHalfTheExperimentNumber(_TakesOtherExperiments):
    """Only the first byte of the experiment's number is compared."""

    def cookie_in(self, data: bytes) -> bytes | None:
        return data[2:] if data[:1] == _EXID[:1] and len(data) >= 2 else None


@mutant("OPT-13", also=("ACC-4",))
class ComparesTheOtherHalfOfTheNumber(_TakesOtherExperiments):
    """Only the second byte of the experiment's number is compared."""

    def cookie_in(self, data: bytes) -> bytes | None:
        return data[2:] if data[1:2] == _EXID[1:] else None


@mutant("OPT-13", also=("ACC-4",))
class TakesTheNumberInTheOtherByteOrder(_TakesOtherExperiments):
    """The experiment's number is understood backwards as well."""

    def cookie_in(self, data: bytes) -> bytes | None:
        return data[2:] if data[:2] == _EXID[::-1] else None


@mutant("OPT-13", also=("ACC-4", "REL-2"))
class TakesExperimentsWithoutANumber(_TakesOtherExperiments):
    """Kinds 253 and 254 are read as kind 34, their data being the cookie."""

    def cookie_in(self, data: bytes) -> bytes | None:
        return data


@mutant("OPT-13", also=("ACC-4",))
class NumberOfFourBytes(_TakesOtherExperiments):
    """The experiment's number is looked for in four bytes as well as in two."""

    def cookie_in(self, data: bytes) -> bytes | None:
        return data[4:] if data[:4] == b"\0\0" + _EXID else None
