"""One connection of a client, seen and led from the server's end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.clients.application import Client, Dialogue
from scapy_tfo.clients.relay.pump import relayed
from scapy_tfo.option import Broken, FastOpen, RawOption
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN, Flags, Segment
from scapy_tfo.suite.application import NoApp
from scapy_tfo.suite.flow import Flow
from scapy_tfo.suite.outcome import Inconclusive, Unsupported, judging
from scapy_tfo.suite.switchboard import Key, Switchboard

BODY = b"served\n"
"""What an application receives unless a case wants something else."""

NOT_USED, ASKED = "the cookie that the server granted is not used", "a request"
NO_DATA = "a SYN with a cookie and no data, though there is some to send"
"""Why such cases fail, and what came instead of the cookie."""

_PIECE = 1000
"""Bytes of ours in one segment."""

_PART = 40
"""Bytes of a SYN's text that are acknowledged where a part is."""

_COPIED = 0.05
"""Seconds within which no client sends a SYN again: the path doubled it."""


def _is_request(each: FastOpen | Broken | None) -> bool:
    return isinstance(each, FastOpen) and each.is_request


def _cookie(each: FastOpen | Broken | None) -> bytes | None:
    """b"" of a request; None of what is no valid option."""
    return each.cookie if isinstance(each, FastOpen) else None


class Owner(Protocol):
    """What a connection uses of the server that it came to.

    again_within: seconds within which a SYN without an answer comes again. text: what the
    application has to say.
    """

    owner: str
    again_within: float
    text: bytes

    @property
    def board(self) -> Switchboard: ...

    @property
    def client(self) -> Client: ...

    @property
    def dialogue(self) -> Dialogue: ...

    def record(self, what: str, value: object) -> None: ...

    async def must_be_content(self, connection: Incoming, body: bytes) -> None: ...


@dataclass(slots=True)
class Course:
    """How long a connection took, in seconds behind its first SYN: until something of ours went
    out, and until the last of our text or our FIN did; None for what never did."""

    answered: float | None = None
    said: float | None = None


class Incoming(Flow):
    """A connection that the client opens to one of our servers.

    syns: those that came, the first in front. taken: bytes of the first SYN that we acknowledged.
    has_answered: a SYN-ACK of ours went out. brought_data: such a one had data. crossed: a SYN of
    ours met the client's. lost: segments that `lose` kept from us. application: which of the
    server's it is of, counted from 1. began: when its first SYN came. course: its times.
    The text of a SYN counts as received only when a SYN-ACK acknowledges it. What the path made
    two of counts once.
    """

    is_tcp = False

    def __init__(self, server: Owner, key: Key, *, isn: int, patience: float) -> None:
        super().__init__(
            server.board,
            owner=server.owner,
            source=key[0],
            sport=key[1],
            target=key[2],
            dport=key[3],
            app=NoApp(),
            isn=isn,
            mss=1460 if key[0].version == 4 else 1440,
            patience=patience,
        )
        self.server = server
        self.syns: list[Segment] = []
        self.taken = 0
        self.has_answered = self.brought_data = self.crossed = False
        self.lost: list[Segment] = []
        self.application = 0
        self._loses: Callable[[Segment], bool] = lambda _: False
        self._syn_came = 0.0
        self.began, self.course = asyncio.get_running_loop().time(), Course()

    def lose(self, which: Callable[[Segment], bool]) -> None:
        """From now on, the path loses those segments of the client's; `lost` has them."""
        self._loses = which

    @property
    def _received(self) -> int:
        return super()._received + len(self.lost)

    def _transmit(self, segment: Segment, comment: str = "") -> None:
        super()._transmit(segment, comment)
        seconds = asyncio.get_running_loop().time() - self.began
        if self.course.answered is None:
            self.course.answered = seconds
        if segment.payload or segment.flags & FIN:
            self.course.said = seconds

    def _watch(self, segment: Segment, number: int) -> None:
        pass  # `hear` does, of a SYN with its text, and of what the path loses.

    def hear(self, segment: Segment, number: int) -> None:
        super()._watch(segment, number)
        if self._loses(segment):
            self.lost.append(segment)
            self._pass_over(number, "lost on the way")
            self._wake()
        elif not segment.is_syn or segment.is_rst:
            super().hear(segment, number)
        elif self._is_copy(segment):
            self._pass_over(number, "the same SYN once more, doubled on the way")
        else:
            self.syns.append(segment)
            super().hear(replace(segment, payload=b"", flags=segment.flags & ~FIN), number)
            self.heard[-1] = segment

    def _pass_over(self, number: int, why: str) -> None:
        self.numbers.append(number)
        self._board.note((number,), why)

    def _is_copy(self, syn: Segment) -> bool:
        came, self._syn_came = self._syn_came, asyncio.get_running_loop().time()
        return self.syns[-1:] == [syn] and self._syn_came - came < _COPIED

    @property
    def was_reset(self) -> bool:
        """A RST came that the case did not expect."""
        return any(each.is_rst for at, each in enumerate(self.heard) if at not in self._taken)

    # The SYN

    @property
    def first(self) -> Segment:
        """The SYN that began it."""
        return self.syns[0]

    @property
    def part(self) -> int:
        """Bytes to acknowledge where only a part of the SYN's text is to be: 40, or half of it
        where that is less. Of a single byte there is no part."""
        size = len(self.first.payload)
        if size < 2:
            raise Inconclusive("the SYN has too little data for a part of it to be acknowledged")
        return min(_PART, size // 2)

    @property
    def option(self) -> FastOpen | None:
        """The Fast Open option of the first SYN, where it has a valid one."""
        found = [each for each in self.first.fast_open if isinstance(each, FastOpen)]
        return found[0] if found else None

    def must_ask(self) -> None:
        """Demand a request for a cookie, and no fast open; a client that sends no option at all
        does no fast open, which it may."""
        if not self.first.fast_open and not self.first.payload:
            raise Unsupported("the client sends no Fast Open option: it does not ask for a cookie")
        option = self.option
        if option is not None and option.cookie and not self.server.client.is_fresh:
            raise Inconclusive(
                "the client has a cookie for this address already, from an earlier run maybe: "
                "make it forget ('ip tcp_metrics flush' on Linux), or give another --address"
            )
        self.require(
            _is_request(option),
            "the first SYN to a server has no request for a cookie",
            "an empty Fast Open option of length 2",
            str(self.first),
        )

    def must_ask_and_no_more(self) -> None:
        """The same; data beside the request is named (RFC 7413 7.3 leaves it to the operator)."""
        self.must_ask()
        if self.first.payload:
            size = len(self.first.payload)
            self.server.record("beside the request", f"{size} bytes: cookie-less fast open?")

    def must_not_open_fast(self, why: str) -> None:
        """Demand that nothing is sent in the SYN by virtue of a cookie, `why` ("after ...") says
        for what reason. To ask for a cookie is no fast open."""
        # A cookie of invalid length is one that it believes to have.
        cookies = [each for each in self.first.fast_open if not _is_request(each)]
        self.require(
            not (cookies and self.first.payload),
            f"fast open {why}",
            "a SYN without cookie and data",
            str(self.first),
        )

    def must_be_plain(self, why: str) -> None:
        """Demand a SYN without option and text, `why` ("after ...") says for what reason."""
        self.require(
            not self.first.fast_open and not self.first.payload,
            f"fast open {why}",
            "a SYN without Fast Open option and without data",
            str(self.first),
        )

    def must_use(self, cookie: bytes, *, text: bool = True) -> None:
        """Demand a fast open with that cookie, with data beside it."""
        option = self.option
        got = "none" if option is None else option.cookie.hex() or ASKED
        self.require(
            _cookie(option) == cookie,
            NOT_USED,
            f"a SYN with cookie {cookie.hex()}",
            f"cookie: {got}",
        )
        if text:
            self.require(
                bool(self.first.payload),
                NO_DATA,
                "data in the SYN",
                str(self.first),
            )

    def must_use_no_other(self, cookie: bytes, reason: str) -> None:
        """Demand that a cookie in the SYN, where there is one, is this one."""
        every = self.first.fast_open
        self.require(
            all(_cookie(each) in (b"", cookie) for each in every),
            reason,
            f"cookie {cookie.hex()}, or none",
            str(self.first),
        )

    def opens_fast(self, cookie: bytes) -> bytes:
        """The text in the SYN; without a fast open, which CLI-2 judges, a case tells nothing."""
        option = self.option
        if option is None or option.cookie != cookie or not self.first.payload:
            raise Inconclusive("the client did not use its cookie, which CLI-2 judges")
        return self.first.payload

    async def syn_again(self, what: str, *, within: float | None = None) -> Segment:
        """The next SYN that was sent again."""
        seen = len(self.syns)
        wait = self.server.again_within if within is None else within
        await self.until(what, lambda: len(self.syns) > seen, within=wait, may_reset=True)
        return self.syns[seen]

    # Our side of the handshake

    def answer(
        self,
        acking: int | None = None,
        *,
        cookie: bytes | None = None,
        options: Iterable[RawOption] = (),
        data: bytes = b"",
        flags: Flags = 0,
        with_mss: bool = True,
        late: bool = False,
        **fields: Any,
    ) -> Segment:
        """Send a SYN-ACK at our ISN.

        acking: bytes of the SYN's text, None for all. cookie: to grant, None for no option. The
        MSS option goes in front, `options` behind the cookie. late: it comes behind another that
        the client took, so that nothing is received by it. fields: of Segment.
        """
        size = len(self.first.payload) if acking is None else acking
        tfo = [] if cookie is None else [self.granting(cookie)]
        every = [*([opt.mss(self.mss)] if with_mss else []), *tfo, *options]
        if not late:
            self.take(size)
        self.has_answered, self.brought_data = True, self.brought_data or bool(data)
        self.snd_nxt = self.isn
        return self.send(
            SYN | ACK | flags, data, options=every, **({"ack": self.their_next(size)} | fields)
        )

    def granting(self, cookie: bytes) -> RawOption:
        """The option that grants a cookie, in the form in which the client asked."""
        asked = self.option
        return opt.fast_open(cookie) if asked is None else opt.fast_open(cookie, form=asked.form)

    def refuse(self) -> None:
        """Reset it, in answer to its first SYN and all the text in that."""
        self.send(RST | ACK, seq=0, ack=self.their_next(len(self.first.payload)), window=0)

    def cross(self, data: bytes = b"", *, options: Iterable[RawOption] = ()) -> Segment:
        """Send a SYN of our own that crosses the client's. options: behind its MSS."""
        self.crossed = True
        self.snd_nxt = self.isn
        return self.send(SYN, data, options=[opt.mss(self.mss), *options])

    def take(self, size: int) -> None:
        """Count so many bytes of the SYN's text as received."""
        text = self.first.payload[:size]
        if len(text) > self.taken:
            self.taken = len(text)
            self.stream.take(replace(self.first, flags=ACK, seq=self.their_next(0), payload=text))

    async def acked(self, what: str = "the ACK of our SYN-ACK") -> Segment:
        """The segment that ends the handshake."""
        wanted = seq.add(self.isn, 1)

        def ends(each: Segment) -> bool:
            is_ack = bool(each.flags & ACK) and not each.flags & SYN and not each.is_rst
            return is_ack and not seq.before(each.ack, wanted)

        return await self.expect(what, ends)

    async def refused(self, number: int) -> None:
        """Demand a RST of that sequence number, for an acknowledgement of something never sent."""
        rst = await self.rst("a RST for an acknowledgement of something never sent")
        self.require(
            rst.seq == number,
            "the RST has another number than was acknowledged",
            f"sequence number {number}",
            str(rst),
        )

    # The conversation

    async def text(self, within: float | None = None) -> bytes:
        """All that the client has to say, acknowledged as it comes; more, or other bytes, fail
        the case, and so do bytes that never come."""
        dialogue, text = self.server.dialogue, self.server.text
        what = f"all of the client's text ({len(text)} bytes)" if dialogue.chosen else "its request"

        def whole() -> bool:
            heard = bytes(self.stream.data)
            wrong = dialogue.wrong(text, heard) or (
                "different bytes for one place" if self.stream.conflict else ""
            )
            with judging("CLI-6a"):
                self.require(not wrong, "the client's text is damaged", "each byte once", wrong)
            return dialogue.is_complete(text, heard)

        await self.until(what, whole, within=within, acking=True)
        return bytes(self.stream.data)

    def reply(self, body: bytes = BODY) -> bytes:
        """What we say in all, so that the application receives `body`."""
        return self.server.dialogue.answer(body)

    def speak(self, body: bytes = BODY) -> None:
        """Say what the client has not acknowledged yet of our reply, and close."""
        whole = self.reply(body)
        done = seq.distance(seq.add(self.isn, 1), self.their_rcv_nxt)
        self.snd_nxt = seq.add(self.isn, 1 + done)
        for at in range(done, len(whole) + 1, _PIECE):
            is_last = at + _PIECE > len(whole)
            self.send(ACK | PSH | FIN if is_last else ACK, whole[at : at + _PIECE])

    async def serve(self, body: bytes = BODY, *, within: float | None = None) -> None:
        """Go on as any server does: take the text, answer, close; and demand that the application
        sent each byte once, received each of ours, and is content."""
        if await relayed(self, self.server.dialogue.relay, within or self.patience):
            await self.server.must_be_content(self, b"")
        else:
            await self.text(within=within)
            self.speak(body)
            await self.closes(body)

    async def closes(self, body: bytes = BODY) -> None:
        """The end of `serve`, where all has been said."""
        await self.until("the client's FIN", lambda: self.stream.ended, acking=True)
        wrong = self.server.dialogue.wrong(self.server.text, bytes(self.stream.data))
        with judging("CLI-6a"):
            self.require(not wrong, "the client's text is damaged", "each byte once", wrong)
        await self.server.must_be_content(self, body)

    def their_next(self, size: int) -> int:
        """Sequence number of the client's byte behind the first `size`."""
        return seq.add(self.first.seq, 1 + size)
