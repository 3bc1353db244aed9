"""Dataclasses that only the type checker freezes, and so as cheap to make as any object."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value(*, frozen, **options):
        """A dataclass that is frozen for the type checker only.

        At run time, too, each object would take three times as long to make, and packets are made
        by the hundred thousand.
        """
        return dataclasses.dataclass(unsafe_hash=frozen, **options)


__all__ = ["value"]
