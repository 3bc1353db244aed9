"""Opens the file of a store for one writer at a time, and explains its errors in one line."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from scapy_tfo.errors import SetupError
from scapy_tfo.shape import sentence

_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_CLOSED = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
_LOCKED = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_PATIENCE = 5.0
_ATTEMPTS = 3

DAMAGE = (
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
)
"""What values raise that no program of ours has written."""


class Lock:
    """Keeps other writers away; it goes with the process, however that ends.

    Raises SetupError where another holds it, or none can be made.
    """

    def __init__(self, path: Path) -> None:
        self._path = Path(f"{path}.lock")
        self._file = -1
        for _ in range(_ATTEMPTS):
            try:
                self._file = os.open(self._path, _LOCKED, 0o644)
            except OSError as error:
                raise SetupError(f"cannot write {path}: {error.strerror}") from error
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(self._file), os.stat(self._path)):
                    return
            except FileNotFoundError:
                # Its last holder removed it in between: this lock is one on nothing.
                pass
            except OSError:
                os.close(self._file)
                break
            os.close(self._file)
        raise SetupError(f"{path} is in use by another run: wait, or choose another file")

    def release(self) -> None:
        """Harmless when called twice."""
        if self._file >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1


def connect(path: Path, *, to_write: bool) -> sqlite3.Connection:
    """The database. Raises SetupError."""
    database = None
    try:
        database = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE)
        database.row_factory = sqlite3.Row
        if to_write:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
        else:
            database.execute("PRAGMA query_only = 1")
        database.execute("PRAGMA trusted_schema = 0")
    except sqlite3.Error as error:
        if database is not None:
            database.close()
        raise complaint(path, error) from error
    return database


def is_there(path: Path) -> bool:
    """Whether there is such a file. Raises SetupError where nobody may look."""
    try:
        return path.is_file()
    except OSError as error:
        raise SetupError(f"cannot open the store {path}: {error.strerror}") from error


def refuse(path: Path) -> None:
    """Raises SetupError where a new store cannot be made, as there is something."""
    if path.is_symlink():
        raise SetupError(f"{path} is a symbolic link: give the file that it shall point to")
    if not is_empty(path):
        raise SetupError(f"{path} already exists: continue with --resume, or give another")


def is_empty(path: Path) -> bool:
    """Whether nothing was written to it: it is not there, or its maker was killed before. Raises
    SetupError where nobody may look."""
    if not is_there(path) and not path.exists():
        return True
    try:
        with closing(sqlite3.connect(path)) as database:
            (tables,) = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error:
        return False
    return not tables


def complaint(path: Path, error: sqlite3.Error) -> SetupError:
    """What an error of SQLite means to a user."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _FULL:
        return SetupError(
            f"the store {path} cannot grow ({error}): what was finished is kept; free some space,"
            " and continue with --resume"
        )
    if code in _BUSY:
        return SetupError(f"the store {path} is in use by another program: wait until it ends")
    if code in _CLOSED:
        return SetupError(f"the store {path} cannot be opened or written: {error}")
    return damaged(path, error)


def refuse_damage(database: sqlite3.Connection, path: Path) -> None:
    """Raises SetupError for a file that SQLite calls damaged, or that has views and triggers: we
    make tables alone, and the others would run what somebody else wrote."""
    query = "SELECT name FROM sqlite_schema WHERE type NOT IN ('table', 'index') LIMIT 1"
    other = database.execute(query).fetchone()
    if other is not None:
        raise damaged(path, f"{other['name']} is no table")
    (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise damaged(path, found)


def damaged(path: Path, why: object) -> SetupError:
    """For a file that does not hold what was written to it."""
    told = sentence(why) if isinstance(why, Exception) else why
    return SetupError(f"the store {path} is damaged: {told}; use a backup, or start a new one")
