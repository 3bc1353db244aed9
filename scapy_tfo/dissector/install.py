"""Installs the plugin and the profile where Wireshark finds them, and removes them again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.dissector import files
from scapy_tfo.errors import SetupError

PROFILE_NAME = "fast-open"
"""The name of our profile, for `wireshark -C`."""

MARKS = (b"scapy-tfo", b"TCP Fast Open in Wireshark")
"""Our files have one of these in their first lines; a file of the profile that Wireshark has
rewritten, because the user changed it, does not."""

_HEAD = 600


@dataclass(frozen=True, slots=True)
class Change:
    """One file, and what was done about it: installed, updated, up to date, replaced, removed,
    kept."""

    what: str
    path: Path


@dataclass(frozen=True, slots=True)
class Places:
    """plugins: folder for Lua plugins. profiles: folder of profiles, None to leave them alone."""

    plugins: Path
    profiles: Path | None = None

    @property
    def plugin(self) -> Path:
        return self.plugins / files.PLUGIN

    def copies(self) -> Iterator[tuple[Path, Path]]:
        """Each file of ours, and where it goes."""
        yield files.plugin(), self.plugin
        if self.profiles is not None:
            for source in sorted(files.profile().iterdir()):
                yield source, self.profiles / PROFILE_NAME / source.name


def install(places: Places, *, force: bool = False) -> list[Change]:
    """Put them there, older ones of ours replaced.

    force: replace files that are not ours, too. Raises SetupError where there is such a file and
    no force, before anything is written, and where a file cannot be written.
    """
    copies = list(places.copies())
    foreign = [target for _, target in copies if is_foreign(target)]
    if foreign and not force:
        raise SetupError(
            f"{foreign[0]} is not ours, or was changed: move it, or give --force to replace it"
        )
    return [_copied(source, target, target in foreign) for source, target in copies]


def remove(places: Places, *, force: bool = False) -> list[Change]:
    """Take them away, with directories of ours that are empty then. force: the profile with what
    Wireshark has added to it, and files of those names that are not ours.

    Raises SetupError where a file cannot be removed.
    """
    done = []
    for _, target in places.copies():
        if os.path.lexists(target) and (force or not is_foreign(target)):
            _attempt(target, target.unlink)
            done.append(Change("removed", target))
        elif os.path.lexists(target):
            done.append(Change("kept, because it is not ours or was changed:", target))
    if places.profiles is not None:
        done += _without_profile(places.profiles / PROFILE_NAME, force=force)
    return done


def is_foreign(path: Path) -> bool:
    """Whether something is there that is not ours."""
    if not os.path.lexists(path):
        return False
    if not path.is_file():
        return not path.is_symlink()
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return not any(mark in head for mark in MARKS)


def is_current(path: Path, source: Path) -> bool:
    """Whether a file has the same bytes as ours."""
    return path.is_file() and path.read_bytes() == source.read_bytes()


def _copied(source: Path, target: Path, was_foreign: bool) -> Change:
    if is_current(target, source):
        return Change("up to date", target)
    was_there = os.path.lexists(target)
    aside = target.with_name(f".{target.name}.{os.getpid()}")

    def write() -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Renamed into place, so that a link there is replaced, and what it points to is not.
        shutil.copyfile(source, aside)
        try:
            aside.replace(target)
        except OSError:
            aside.unlink()
            raise

    _attempt(target, write)
    if was_foreign:
        return Change("replaced, though it was not ours:", target)
    return Change("updated" if was_there else "installed", target)


def _without_profile(profile: Path, *, force: bool) -> list[Change]:
    if not profile.is_dir():
        return []
    rest = sorted(each.name for each in profile.iterdir())
    if rest and not force:
        return [Change(f"kept, with {', '.join(rest)} in it (--force removes it):", profile)]
    _attempt(profile, lambda: shutil.rmtree(profile))
    return [Change("removed", profile)]


def _attempt(path: Path, act: Callable[[], object]) -> None:
    try:
        act()
    except OSError as error:
        raise SetupError(f"cannot change {path}: {error.strerror}") from error
