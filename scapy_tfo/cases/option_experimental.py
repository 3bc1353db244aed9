"""RFC 7413 section 9 and RFC 6994: kind 34, and the experimental form that preceded it.

The experimental form has kind 254 (or 253) and begins with the experiment's number, 0xF989.
"""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.option import Form, RawOption
from scapy_tfo.suite.concurrently import together
from scapy_tfo.suite.outcome import Absent
from scapy_tfo.suite.peer import Peer
from scapy_tfo.suite.registry import case

FORMS = (Form.EXPERIMENT_2, Form.EXPERIMENT_1)


async def _asked(peer: Peer, *forms: Form) -> tuple[list[Form], bytes]:
    """In which forms a request is answered, and the last cookie that the answer brings."""
    flow = peer.flow()
    flow.syn(options=[opt.fast_open(form=each) for each in forms])
    syn_ack = await flow.syn_ack()
    found = [each for each in syn_ack.fast_open if isinstance(each, opt.FastOpen)]
    return [each.form for each in syn_ack.fast_open], found[-1].cookie if found else b""


async def _understood(peer: Peer, form: Form) -> bytes:
    """A cookie got in the experimental form; Absent where that is not understood."""
    answer, cookie = await _asked(peer, form)
    peer.record(f"a request of kind {int(form)} is answered in kind", _names(answer))
    if not answer:
        raise Absent(f"the experimental form of kind {int(form)} is not understood")
    return cookie


def _names(forms: list[Form]) -> str:
    return ", ".join(str(int(each)) for each in forms) or "none"


@case("OPT-6")
async def kind_34_is_answered_with_kind_34(peer: Peer) -> None:
    """The answer to a request of kind 34 has kind 34."""
    answer, _ = await _asked(peer, Form.IANA)
    if not answer:
        raise Absent("the target answers no cookie request")
    peer.require(
        answer == [Form.IANA],
        "a request of kind 34 is answered in another form",
        expected="one option of kind 34",
        actual=f"options of kinds {_names(answer)}",
    )


async def _answers_its_own_form(peer: Peer, form: Form) -> None:
    await _understood(peer, form)
    answer, _ = await _asked(peer, form)
    if not answer:
        raise Absent(f"a second request of kind {int(form)} is not answered")
    peer.require(
        answer == [form],
        f"a request of kind {int(form)} is answered in a form that its sender may not know",
        expected=f"one option of kind {int(form)}",
        actual=f"options of kinds {_names(answer)}",
    )


@case("OPT-6a")
async def kind_254_is_answered_with_kind_254(peer: Peer) -> None:
    """Where the experimental form is understood, its answer has the same form."""
    await _answers_its_own_form(peer, Form.EXPERIMENT_2)


@case("OPT-6a")
async def kind_253_is_answered_with_kind_253(peer: Peer) -> None:
    """Where the experimental form is understood under kind 253, its answer has the same form."""
    await _answers_its_own_form(peer, Form.EXPERIMENT_1)


async def _accepted(peer: Peer, cookie: bytes, form: Form) -> None:
    flow = peer.flow()
    request = flow.app.request()
    flow.syn(options=[opt.fast_open(cookie, form=form)], data=request)
    flow.must_accept(await flow.syn_ack(), len(request))
    if flow.app.answers:
        await flow.finish()


@case("OPT-6a")
async def cookie_of_kind_254_is_good_in_kind_254(peer: Peer) -> None:
    """A cookie got and used in the experimental form has its data accepted."""
    await _accepted(peer, await _understood(peer, Form.EXPERIMENT_2), Form.EXPERIMENT_2)


@case("OPT-6a")
async def cookie_of_kind_254_is_good_in_kind_34(peer: Peer) -> None:
    """A cookie got in the experimental form has its data accepted in kind 34."""
    await _accepted(peer, await _understood(peer, Form.EXPERIMENT_2), Form.IANA)


@case("OPT-6a")
async def cookie_of_kind_34_is_good_in_kind_254(peer: Peer) -> None:
    """A cookie got in kind 34 has its data accepted in the experimental form."""
    await _understood(peer, Form.EXPERIMENT_2)
    await _accepted(peer, await peer.cookie(), Form.EXPERIMENT_2)


@case("ACC-3", "OPT-6a")
async def forged_cookies_are_refused_in_the_experimental_form(peer: Peer) -> None:
    """Made-up and broken cookies under kinds 254 and 253: data not accepted early."""

    async def one(form: Form, size: int) -> None:
        flow = peer.flow()
        cookie = (b"\x5a\xa5" * 8)[:size]
        flow.syn(options=[opt.fast_open(cookie, form=form)], data=flow.app.request())
        await peer.falls_back(flow, f"on {size} made-up bytes in kind {int(form)}", fresh=True)

    sizes = (1, 2, 3, 4, 7, 8, 16)
    await together(one(form, size) for form in FORMS for size in sizes)


@case("OPT-12")
async def no_answer_has_both_forms(peer: Peer) -> None:
    """Requests of one kind and of several: no SYN-ACK holds kind 34 and the experimental form."""
    wanted = [[Form.IANA], [Form.EXPERIMENT_2], [Form.EXPERIMENT_1], [Form.IANA, *FORMS]]
    wanted += [[Form.IANA, Form.EXPERIMENT_2], [Form.EXPERIMENT_2, Form.IANA]]
    for forms in wanted:
        answer, _ = await _asked(peer, *forms)
        peer.record(f"{_names(forms)} is answered in kind", _names(answer))
        peer.require(
            Form.IANA not in answer or set(answer) == {Form.IANA},
            "a SYN-ACK holds the assigned and the experimental form",
            expected="one of them",
            actual=f"options of kinds {_names(answer)}",
        )


def _of_others(cookie: bytes) -> list[RawOption]:
    """Experimental options that are not Fast Open, though a careless reader may find it there."""
    heads = (b"", b"\xf9", b"\xf9\x88", b"\xf9\x8a", b"\xf8\x89", b"\x89\xf9", b"\0\0", b"\xff\xff")
    data = [head + cookie for head in heads] + [b"\x89" + cookie, b"\0\0\xf9\x89" + cookie]
    return [
        RawOption(kind, 2 + len(each), each)
        for kind in (opt.EXPERIMENT_1, opt.EXPERIMENT_2)
        for each in data
        if each[:2] != opt.EXID.to_bytes(2, "big")
    ]


@case("OPT-13")
async def requests_of_other_experiments_get_no_cookie(peer: Peer) -> None:
    """Kinds 253 and 254 under neighbouring numbers or none: no cookie, data not accepted early."""

    async def one(option: RawOption) -> None:
        flow = peer.flow()
        flow.syn(options=[option], data=flow.app.request())
        await peer.falls_back(flow, f"on an option {option.kind} with data {option.data.hex()}")

    await together(map(one, _of_others(b"")))


@case("OPT-13")
async def cookies_under_other_experiments_are_not_taken(peer: Peer) -> None:
    """A valid cookie in kinds 253 and 254 under other numbers: data not accepted early."""
    cookie = await peer.cookie()

    async def one(option: RawOption) -> None:
        flow = peer.flow()
        flow.syn(options=[option], data=flow.app.request())
        await peer.falls_back(flow, f"on an option {option.kind} with data {option.data.hex()}")

    await together(map(one, _of_others(cookie)))
