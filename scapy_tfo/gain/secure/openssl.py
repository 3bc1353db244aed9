"""TLS 1.3 of this host's OpenSSL, bytes in and bytes out, with early data.

Python's ssl module has no early data (RFC 8446 section 2.3), so that this calls libssl itself, by
the functions that OpenSSL documents since 1.1.1 (SSL_read_early_data(3)).
"""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache
from pathlib import Path

from scapy_tfo.errors import SetupError, TargetError

_TLS_1_3 = 0x0304
_SET_MIN_VERSION = 123
_PEM = 1
_NO_ANTI_REPLAY = 1 << 24
"""SSL_OP_NO_ANTI_REPLAY: a ticket is good for many connections, as a page opens them at once."""

_EARLY_LIMIT = 16384
_WANT_READ = 2
_READ_AGAIN, _READ_DONE = 1, 2
"""SSL_READ_EARLY_DATA_SUCCESS and SSL_READ_EARLY_DATA_FINISH."""

_ACCEPTED = 2
_SHUT_DOWN = 3
"""SSL_SENT_SHUTDOWN and SSL_RECEIVED_SHUTDOWN."""

_LARGEST = 1 << 16
_POINTERS = ["TLS_method", "SSL_CTX_new", "SSL_new", "SSL_get1_session", "BIO_new", "BIO_s_mem"]


@cache
def library() -> ctypes.CDLL:
    """Raises SetupError where there is none that is new enough."""
    name = ctypes.util.find_library("ssl")
    try:
        found = ctypes.CDLL(name) if name else None
        if found is None or not hasattr(found, "SSL_read_early_data"):
            raise OSError
    except OSError:
        raise SetupError("TLS needs OpenSSL 1.1.1 or newer: apt-get install libssl3") from None
    for each in _POINTERS:
        getattr(found, each).restype = ctypes.c_void_p
    found.SSL_CTX_set_options.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    found.SSL_CTX_ctrl.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_long, ctypes.c_void_p]
    return found


class Context:
    """Of a server with its certificate, or of a client without one. sessions: of the client, by the
    place that it is connected to."""

    def __init__(self, files: tuple[Path, Path] | None = None) -> None:
        ssl = library()
        self.is_server = files is not None
        self.sessions: dict[str, ctypes.c_void_p] = {}
        self.pointer = ctypes.c_void_p(ssl.SSL_CTX_new(ctypes.c_void_p(ssl.TLS_method())))
        ssl.SSL_CTX_ctrl(self.pointer, _SET_MIN_VERSION, _TLS_1_3, None)
        if files is not None:
            certificate, key = (str(each).encode() for each in files)
            read = ssl.SSL_CTX_use_certificate_file(self.pointer, certificate, _PEM)
            if read != 1 or ssl.SSL_CTX_use_PrivateKey_file(self.pointer, key, _PEM) != 1:
                raise SetupError("OpenSSL does not take the certificate")
            ssl.SSL_CTX_set_max_early_data(self.pointer, _EARLY_LIMIT)
            ssl.SSL_CTX_set_options(self.pointer, _NO_ANTI_REPLAY)


class Endpoint:
    """One end of a connection. place: that the client is connected to, by which it resumes.

    early: with early data, where there is a session. done: the handshake is over.
    """

    def __init__(self, context: Context, place: str = "", *, early: bool = False) -> None:
        ssl = library()
        self._context, self._place = context, place
        self._ssl = ctypes.c_void_p(ssl.SSL_new(context.pointer))
        memory = ssl.BIO_s_mem()
        self._in, self._out = (
            ctypes.c_void_p(ssl.BIO_new(ctypes.c_void_p(memory))) for _ in range(2)
        )
        ssl.SSL_set_bio(self._ssl, self._in, self._out)
        self.done = False
        self._reads_early = context.is_server
        self._writes_early = False
        if context.is_server:
            ssl.SSL_set_accept_state(self._ssl)
            return
        ssl.SSL_set_connect_state(self._ssl)
        session = context.sessions.get(place)
        if session is not None:
            ssl.SSL_set_session(self._ssl, session)
            self._writes_early = early

    @property
    def sends_early(self) -> bool:
        """Whether what is written now goes before the handshake is over."""
        return self._writes_early

    @property
    def accepted_early(self) -> bool:
        """Whether the early data was accepted; known when the handshake is over."""
        return bool(library().SSL_get_early_data_status(self._ssl) == _ACCEPTED)

    def feed(self, data: bytes) -> bytes:
        """Take what came from the peer; returns the text in it. Raises TargetError where it is no
        TLS."""
        ssl = library()
        ssl.BIO_write(self._in, data, len(data))
        text = self._read_early() if self._reads_early else b""
        if not self.done and not self._reads_early:
            self.shake()
        return text + self._read() if self.done else text

    def shake(self) -> None:
        """Go on with the handshake as far as it goes."""
        ssl = library()
        found = ssl.SSL_do_handshake(self._ssl)
        if found == 1:
            self.done = True
            self._writes_early = False
        else:
            self._check(found)

    def write(self, text: bytes) -> None:
        """Text for the peer: early where that is agreed, else after the handshake."""
        ssl, written = library(), ctypes.c_size_t()
        if self._writes_early:
            found = ssl.SSL_write_early_data(self._ssl, text, len(text), ctypes.byref(written))
        else:
            found = ssl.SSL_write(self._ssl, text, len(text))
        if found <= 0:
            self._check(found)
            raise TargetError("TLS takes no text before its handshake is over")

    def take(self) -> bytes:
        """What is to be sent to the peer."""
        ssl, buffer, out = library(), ctypes.create_string_buffer(_LARGEST), b""
        while (count := ssl.BIO_read(self._out, buffer, _LARGEST)) > 0:
            out += buffer.raw[:count]
        return out

    def keep_session(self) -> None:
        """For the next connection to the place, with the ticket that the server has sent."""
        session = library().SSL_get1_session(self._ssl)
        if session:
            self._context.sessions[self._place] = ctypes.c_void_p(session)

    def close(self) -> None:
        """Give the memory back."""
        if self._ssl:
            # Without this, the session would count as broken, and not be resumed.
            library().SSL_set_shutdown(self._ssl, _SHUT_DOWN)
            library().SSL_free(self._ssl)
            self._ssl = ctypes.c_void_p()

    def _read_early(self) -> bytes:
        ssl, buffer, out = library(), ctypes.create_string_buffer(_LARGEST), b""
        while True:
            count = ctypes.c_size_t()
            found = ssl.SSL_read_early_data(self._ssl, buffer, _LARGEST, ctypes.byref(count))
            out += buffer.raw[: count.value]
            if found == _READ_DONE:
                self._reads_early = self._writes_early = False
                return out
            if found != _READ_AGAIN:
                self._check(0)
                return out
            # The answer may go before the client's end of the handshake comes.
            self._writes_early = True

    def _read(self) -> bytes:
        ssl, buffer, out = library(), ctypes.create_string_buffer(_LARGEST), b""
        while (count := ssl.SSL_read(self._ssl, buffer, _LARGEST)) > 0:
            out += buffer.raw[:count]
        self._check(count)
        return out

    def _check(self, found: int) -> None:
        code = library().SSL_get_error(self._ssl, found)
        if code != _WANT_READ:
            raise TargetError(f"TLS failed (SSL_get_error: {code})")
