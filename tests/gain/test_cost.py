"""The cost of cookie checks, in Python and in the kernel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the extra 'gain' is not installed")

from scapy_tfo.cli import main
from scapy_tfo.errors import SetupError
from scapy_tfo.gain import check_cost, kernel_cost


@pytest.mark.parametrize("family", check_cost.FAMILIES)
@pytest.mark.parametrize("scheme", check_cost.SCHEMES)
def test_a_check_holds_a_call_and_a_call_holds_the_cipher(scheme: str, family: int) -> None:
    found = check_cost.measure(scheme, family, 3)
    assert found.check.value > found.call.value > found.raw.value > 0
    assert found.rate == pytest.approx(1e9 / found.check.value)


def test_the_check_is_what_the_control_has_not() -> None:
    found = kernel_cost.cost([(1030.0, 1000.0, 1001.0), (2030.0, 2000.0, 1999.0)])
    assert (found.check.value, found.control.value) == (30.0, 0.0)


def test_every_fast_open_is_accepted_at_every_listener() -> None:
    """Else the measurement ends with an error."""
    try:
        volleys = list(kernel_cost.measure(3))
    except SetupError as error:
        pytest.skip(str(error))
    assert all(taken > 0 for volley in volleys for taken in volley)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        list(kernel_cost.measure(1))
    except SetupError as error:
        pytest.skip(str(error))
    assert (
        main(
            ["gain", "cost", "--volleys", "2", "--accept-noise", "--json", str(tmp_path / "a.json")]
        )
        == 0
    )
    said = capsys.readouterr().out
    assert "cookie required" in said
    assert "0.3 %" in said
    figures = json.loads((tmp_path / "a.json").read_text())
    assert {each["scheme"] for each in figures["schemes"]} == set(check_cost.SCHEMES)
    assert figures["kernel_cost"]["checked"]["value"] > 0
