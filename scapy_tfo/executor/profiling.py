"""Finds out what a target does where the standard leaves a choice.

The answers to a few simple SYNs make the profile by which all later replies are judged: options
that the target has without fast open must not go missing with it, and a form in which it grants
cookies is a form that it understands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.executor.play import Play
from scapy_tfo.oracle.profile import FORMS, Profile, Usual
from scapy_tfo.program.options import Offer
from scapy_tfo.program.program import Flow, Option, Program, Send, Wait

_EVERYTHING = (
    Option("mss", 1460),
    Option("sackok"),
    Option("ts"),
    Option("nop"),
    Option("ws", 7),
)

Once = Callable[[Program, Profile], Play]
"""Runs a program once, keeping its packets."""


def acquaint(once: Once, families: tuple[int, ...] = (4, 6), name: str = "rfc") -> Profile:
    """Ask a target what it does."""
    blank = Profile(name, forms=frozenset(FORMS), holds_data=True, fresh=True)
    usual: dict[int, int | None] = {}
    scale, sack, times = None, False, False
    for family in families:
        offers = _answers(once, blank, family, _EVERYTHING, 0)
        if offers:
            usual[family] = offers[0][0].mss
            scale, sack, times = (
                offers[0][0].scale,
                offers[0][0].sack,
                offers[0][0].times is not None,
            )
    forms = set()
    for kind in FORMS:
        asking = Option("fo", kind=kind)
        for options in ((Option("mss", 1460), asking), (asking,)):
            for offer, _ in _answers(once, blank, families[0], options, 0):
                if any(isinstance(each, opt.FastOpen) for each in offer.fast_open):
                    forms.add(kind)
    held = any(
        taken > 0 for _, taken in _answers(once, blank, families[0], (Option("mss", 1460),), 20)
    )
    return replace(
        blank,
        fast_open=bool(forms),
        forms=frozenset(forms),
        holds_data=held,
        options=Usual(usual, scale, sack, times) if usual else None,
    )


def _answers(
    once: Once, profile: Profile, family: int, options: tuple[Option, ...], size: int
) -> list[tuple[Offer, int]]:
    program = Program(
        (Flow(family),), (Send(0, "S", size=size, options=options), Wait()), end="reset"
    )
    play = once(program, profile)
    link = play.links[0]
    if link.iss is None or link.taken is None:
        return []
    return [(link.answer, link.taken)]
