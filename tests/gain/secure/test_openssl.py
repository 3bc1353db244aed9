"""TLS 1.3 between two of OpenSSL's ends, without any network: early data and sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapy_tfo.errors import SetupError, TargetError
from scapy_tfo.gain.secure.certificate import write_certificate
from scapy_tfo.gain.secure.openssl import Context, Endpoint

ASKED, ANSWER = b"a request", b"an answer"


@pytest.fixture
def contexts(tmp_path: Path) -> tuple[Context, Context]:
    """Of a client and of a server."""
    try:
        return Context(), Context(write_certificate(tmp_path))
    except SetupError as error:
        pytest.skip(str(error))


def visit(contexts: tuple[Context, Context], *, early: bool) -> tuple[int, bool]:
    """A connection with one request; how many flights the client sent up to it, and whether it was
    accepted early. Its session is kept."""
    client, server = Endpoint(contexts[0], "there", early=early), Endpoint(contexts[1])
    asked = client.sends_early
    if asked:
        client.write(ASKED)
    else:
        client.shake()
    flights = 0
    came = b""
    while not came and flights < 5:
        flights += 1
        text = server.feed(client.take())
        if text:
            assert text == ASKED
            server.write(ANSWER)
        came = client.feed(server.take())
        if client.done and not asked:
            client.write(ASKED)
            asked = True
    assert came == ANSWER
    client.keep_session()
    accepted = client.accepted_early
    client.close()
    server.close()
    return flights, accepted


def test_a_request_follows_the_handshake(contexts: tuple[Context, Context]) -> None:
    assert visit(contexts, early=False) == (2, False)
    assert visit(contexts, early=False) == (2, False)


def test_early_data_needs_a_session_and_saves_a_flight(contexts: tuple[Context, Context]) -> None:
    assert visit(contexts, early=True) == (2, False)
    assert visit(contexts, early=True) == (1, True)
    assert visit(contexts, early=True) == (1, True)


def test_what_is_no_tls_is_refused(contexts: tuple[Context, Context]) -> None:
    server = Endpoint(contexts[1])
    with pytest.raises(TargetError, match="TLS failed"):
        server.feed(b"GET / HTTP/1.1\r\n\r\n")
    server.close()


def test_text_before_the_handshake_is_refused(contexts: tuple[Context, Context]) -> None:
    client = Endpoint(contexts[0])
    with pytest.raises(TargetError, match="before its handshake"):
        client.write(ASKED)
    client.close()
