"""Values of factors that a target cannot show are left out, and told."""

from __future__ import annotations

import pytest

from scapy_tfo import spec
from scapy_tfo.errors import SetupError
from scapy_tfo.lab.hooks import ListenerOptions, NotOfferedError
from scapy_tfo.lab.memory.host import ReferenceHost
from scapy_tfo.runner import session
from scapy_tfo.runner.runner import Options
from scapy_tfo.runner.session import Request
from scapy_tfo.suite.context.context import Context
from scapy_tfo.suite.context.factors import BY_NAME
from scapy_tfo.vary import scan
from scapy_tfo.vary.bench import opened

USUAL, *OTHERS = BY_NAME["application"].values


@pytest.fixture
def echo_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent whose `listen` knows one application, and says no to the others."""
    listen = ReferenceHost.listen

    async def listens(
        self: ReferenceHost, options: ListenerOptions, port: int | None = None
    ) -> int:
        if options.app in OTHERS:
            raise NotOfferedError(
                f"what the hooks do not offer: 'listen': application {options.app}"
            )
        return await listen(self, options, port)

    monkeypatch.setattr(ReferenceHost, "listen", listens)


@pytest.mark.usefixtures("echo_alone")
def test_applications_that_the_hooks_do_not_make_are_left_out() -> None:
    options = Options(families=(4,))
    with opened(Request(target="lab:reference", options=options), spec.load()) as bench:
        lacking = scan._lacking(bench, options)
    assert list(lacking) == OTHERS
    assert all("do not offer" in each for each in lacking.values())


@pytest.mark.usefixtures("echo_alone")
def test_one_that_the_user_asks_for_is_wrong_usage() -> None:
    options = Options(families=(4,), context=Context.of({"application": OTHERS[0]}))
    request = Request(target="lab:reference", only=("ACC-2",), options=options)
    with pytest.raises(SetupError, match=f"application={OTHERS[0]}.*do not offer"):
        session.run(request)
