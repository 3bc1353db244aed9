"""Writes docs/generated/rules.md: the rules of plain TCP, as specs/ has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scapy_tfo import tcp_rules
from scapy_tfo.spec import Level
from scapy_tfo.tcp_rules import TcpRule, TcpRules

COMMAND = "make rules"

_HEAD = f"""# Rules of plain TCP

Made by `{COMMAND}` from [specs/tcp-rules.toml](../../specs/tcp-rules.toml), which has besides the
words of each source, the states in which a rule applies, the freedoms that limit it, and where a
time comes from. A rule is one that a peer can see broken: by a packet that comes, by a silence
where something must come, or by a count over several packets. *Oracle* names the rules of
`scapy_tfo/oracle` that judge it today, or says why none does; where none is a rule of traffic, it
names a mutant that something tells of ([rule-mutants.md](rule-mutants.md)). What a right stack may
still do is no breach.
"""


def rules_markdown(rules: TcpRules) -> str:
    """The page."""
    return "\n".join([_HEAD, *_summary(rules), *_topics(rules), *_problems(rules), *_left(rules)])


def names_of_states(rule: TcpRule) -> str:
    """The states of a rule, with the standard's word for those that many rules have."""
    if rule.states == tcp_rules.STATES:
        return "any state"
    if set(tcp_rules.SYNCHRONIZED) <= set(rule.states):
        others = [each for each in rule.states if each not in tcp_rules.SYNCHRONIZED]
        return ", ".join((*others, "synchronized"))
    return ", ".join(rule.states)


def _summary(rules: TcpRules) -> Iterator[str]:
    every = rules.values()
    judged = sum(bool(each.rule) for each in every)
    levels = ", ".join(f"{sum(each.level == level for each in every)} {level}" for level in Level)
    forms = ", ".join(
        f'{sum(each.form == form for each in every)} "{form}"' for form in tcp_rules.Form
    )
    musts = {each for rule in every for each in rule.reqid if each.startswith("MUST-")}
    yield f"{len(rules)} rules: {levels}; {forms}. The oracle judges {judged} of them today."
    yield f"They cover {len(musts)} MUSTs of RFC 9293, appendix B; the rest is listed at the end."
    yield ""


def _topics(rules: TcpRules) -> Iterator[str]:
    for topic, title in rules.topics.items():
        yield f"## {title}\n"
        yield "| rule | level | statement | source | witness | a right stack may | oracle |"
        yield "|---|---|---|---|---|---|---|"
        for each in rules.about(topic):
            cells = (
                f"{each.id}<br>{each.judges}",
                each.level,
                f"{each.statement}{_time(each)}",
                each.source,
                f"{each.witness}<br>in {names_of_states(each)}",
                each.allows,
                _oracle(each),
            )
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
        yield ""


def _oracle(rule: TcpRule) -> str:
    told = _code(rule.rule) or f"none: {rule.unwatched}"
    return told if rule.shown is None else f"{told} Broken by `{rule.shown.mutant}`."


def _time(rule: TcpRule) -> str:
    if rule.form is tcp_rules.Form.MUST_WITHIN:
        return f" Within {rule.seconds:g} s."
    return ""


def _problems(rules: TcpRules) -> Iterator[str]:
    yield "## The problems of RFC 2525\n"
    yield "| problem | rules |"
    yield "|---|---|"
    for problem in tcp_rules.PROBLEMS:
        named = [each.id for each in rules.values() if each.problem == problem]
        yield f"| {problem} | {', '.join(named)} |"
    yield ""


def _left(rules: TcpRules) -> Iterator[str]:
    yield "## Rows of RFC 9293, appendix B, that no rule judges\n"
    yield "| rows | why |"
    yield "|---|---|"
    for row in rules.unjudged:
        yield f"| {', '.join(row.reqid)} | {row.reason} |"
    yield ""


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
