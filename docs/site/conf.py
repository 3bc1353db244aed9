"""The documentation as a site: `make site` builds it from docs/*.md, and stops at any warning."""

import re
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.highlighting import lexers

from scapy_tfo import __version__

project = "scapy-tfo"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["site"]
html_theme = "alabaster"
html_theme_options = {"page_width": "75rem", "sidebar_width": "16rem"}
html_show_copyright = False
myst_heading_anchors = 4
autodoc_typehints = "none"
autodoc_member_order = "groupwise"

# The site draws no diagrams; the text of them can be read.
lexers["mermaid"] = TextLexer()

_DOCS = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\[([^\]]*)\]\(([^)#:]+)(?:#[^)]*)?\)")


def _name_what_the_site_lacks(_app: Sphinx, document: str, source: list[str]) -> None:
    """Links to other files and to folders of the repository become their names. A link to nothing
    stays, and is warned of."""
    folder = (_DOCS / document).parent

    def named(link: re.Match[str]) -> str:
        aim = (folder / link[2]).resolve()
        is_page = aim.is_relative_to(_DOCS) and aim.is_file()
        if is_page or not aim.exists() or not aim.is_relative_to(_DOCS.parent):
            return link[0]
        return f"{link[1]} (`{aim.relative_to(_DOCS.parent)}`)"

    source[0] = _LINK.sub(named, source[0])


def setup(app: Sphinx) -> None:
    app.connect("source-read", _name_what_the_site_lacks)
