"""What our HTML pages share: the head with its policy, the style, the script, links to the sources.

A page needs nothing but itself. Its Content-Security-Policy allows one style and one script, each
named by its hash, and nothing else: no network, no form, no other script, even if a string of a
target got into the page unescaped. The script only searches, and opens what a link points into;
without it, the page has everything but the search.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape

from scapy_tfo.report.escape import visible

STYLE = """
:root{color-scheme:light dark;--bad:light-dark(#b3001b,#ff7b8a);--good:light-dark(#116329,#5fd07f);
--warn:light-dark(#8a5a00,#e8b64c);--calm:light-dark(#57606a,#9aa4af);--edge:light-dark(#d0d7de,#3d444d);
--mark:light-dark(#fff3bf,#4d3f00)}
body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;overflow-wrap:anywhere}h2{font-size:1.2rem;margin-top:2rem}
table{border-collapse:collapse;width:100%;margin:.7rem 0}.wide{overflow-x:auto}
th,td{text-align:left;vertical-align:top;padding:.2rem .6rem;border-bottom:1px solid var(--edge)}
td.n,.k{white-space:nowrap}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.t,p,li,summary{overflow-wrap:anywhere}th.t{min-width:12rem}
details{border:1px solid var(--edge);border-radius:6px;padding:.4rem .8rem;margin:.6rem 0}
td details{border:0;padding:0;margin:0}td summary{font-weight:400}
summary{cursor:pointer;font-weight:600}pre{overflow-x:auto;font-size:.85rem;line-height:1.35}
.b{white-space:pre-wrap}.dim{color:var(--calm)}a{color:inherit}
a.to{color:var(--calm);text-decoration:none;font-weight:400}a.to:hover{text-decoration:underline}
nav a,nav span{margin-right:1rem}:target{background:var(--mark)}
details:target{background:none;border-color:var(--warn);border-width:2px}.miss{display:none}
.fail .v,.fixed .v{color:var(--bad);font-weight:600}.warning .v,.known .v{color:var(--warn)}
.pass .v{color:var(--good)}.inconclusive .v,.unsupported .v,.skipped .v{color:var(--calm)}
.pick{margin-right:.2rem}.pick+label{margin-right:1rem;white-space:nowrap}
#find{font:inherit;width:22rem;max-width:100%;box-sizing:border-box}
details.s{padding:.1rem .8rem;margin:.2rem 0}details.s summary .dim{font-weight:400}
@media(max-width:50rem){th,td{padding:.2rem .3rem}th.t{min-width:0}
.stack thead{display:none}.stack,.stack tbody{display:block}
.stack tr:not(.miss){display:block;border-bottom:1px solid var(--edge);padding:.4rem 0}
.stack td{display:inline-block;border:0;padding:0 .8rem 0 0}.stack td.t{display:block}
.stack td.n::after{content:' s'}}
@media print{#search{display:none}}
""".strip()
"""`k` is a cell that does not wrap, `n` one with a number, `t` one with long text; a table `stack`
becomes one block for each row where the window is narrow, and one in a `wide` box scrolls."""

SCRIPT = """
"use strict";
const find = document.getElementById("find"), found = document.getElementById("found");
if (find) {
  const every = [...document.querySelectorAll(".f")];
  let texts = null;
  const search = () => {
    texts ??= every.map((each) => each.textContent.toLowerCase());
    const words = find.value.toLowerCase().split(/\\s+/).filter(Boolean);
    let left = 0;
    every.forEach((each, at) => {
      const hit = words.every((word) => texts[at].includes(word));
      each.classList.toggle("miss", !hit);
      left += hit;
    });
    found.textContent = words.length ? `${left} of ${every.length} entries` : "";
  };
  document.getElementById("search").hidden = false;
  find.addEventListener("input", search);
  search();
}
const reveal = () => {
  const aim = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!aim) return;
  if (aim.closest(".cases")) document.getElementById("pick-all").checked = true;
  for (let each = aim; each; each = each.parentElement) {
    each.classList.remove("miss");
    if (each.tagName === "DETAILS") each.open = true;
  }
  aim.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
""".strip()

SEARCH = (
    '<p id="search" hidden><label>Search <input id="find" type="search"'
    ' placeholder="words that an entry must have"></label>'
    ' <span id="found" role="status"></span></p>'
)
"""Shown where the script runs; it hides what has class `f` and lacks one of the words."""

_CITED = re.compile(r"RFC (\d+)(?: (section|appendix|erratum) ([0-9A-Z]+(?:\.[0-9]+)*))?")
_UNFIT = re.compile("[^A-Za-z0-9._-]+")


def head(title: str, rules: str = "", *, script: bool = False) -> Iterator[str]:
    """From the doctype to the end of the head. title: escaped already. rules: more style.

    script: the page ends with `tail(script=True)`.
    """
    style = f"\n{STYLE}\n{rules}\n"
    policy = f"default-src 'none'; style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"
    if script:
        policy += f"; script-src '{_hash(_SCRIPT_TEXT)}'"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="referrer" content="no-referrer">'
    yield '<meta name="viewport" content="width=device-width,initial-scale=1">'
    yield f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>"


def tail(*, script: bool = False) -> str:
    """The end of a page."""
    return f"{f'<script>{_SCRIPT_TEXT}</script>{chr(10)}' if script else ''}</body>\n</html>"


def safe(text: str) -> str:
    """Any text, for the content of an element or a quoted attribute."""
    return escape(visible(text))


def cited(source: str) -> str:
    """A source as HTML: `RFC 7413 section 4.1.1` as a link to that section, others as text."""
    url = url_of(source)
    return f'<a href="{url}" rel="noreferrer">{safe(source)}</a>' if url else safe(source)


def url_of(source: str) -> str:
    """Where a source can be read, as `RFC 7413 section 4.1.1`; "" for what is no RFC."""
    match = _CITED.match(source)
    if match is None:
        return ""
    number, kind, place = match.groups()
    base = "https://www.rfc-editor.org/"
    if kind == "erratum":
        return f"{base}errata/eid{place}"
    return f"{base}rfc/rfc{number}.html" + (f"#{kind}-{place}" if kind else "")


class Anchors:
    """Ids of elements, made of letters, digits, dots and dashes, each given out once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, text: str) -> str:
        """One that tells what it stands at: `ACC-2.valid-ipv4`."""
        base = _UNFIT.sub("-", text).strip("-") or "x"
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}-{number}", number + 1
        self._taken.add(name)
        return name


_SCRIPT_TEXT = f"\n{SCRIPT}\n"


def _hash(text: str) -> str:
    """As a policy names what stands in an element."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
