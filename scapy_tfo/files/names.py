"""Makes names of files from text that may come from outside."""

from __future__ import annotations

import re
from hashlib import blake2b

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80
"""Characters that are kept: with a hash and a suffix, every file system takes the name."""


def file_name(text: str) -> str:
    """A name made of letters, digits, dots, underscores and hyphens, which is no path.

    Text that is such a name already stays as it is. Other text loses what does not fit and gets a
    hash of all of it, so that two texts never share a name by being cut.
    """
    plain = _UNFIT.sub("_", text).lstrip(".-")[:_LONGEST]
    if plain and plain == text:
        return plain
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{plain or 'unnamed'}-{digest}"
