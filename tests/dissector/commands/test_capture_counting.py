"""What `scapy-tfo capture report` counts, and the files that have each connection."""

from __future__ import annotations

import csv
import json
from io import StringIO

import pytest
from told import SEVERAL, connection, reading, text_of

from scapy_tfo.dissector.connections import Connection
from scapy_tfo.report.capture.html import html_page
from scapy_tfo.report.capture.lines import CsvLines, JsonLines
from scapy_tfo.report.capture.tally import (
    MOST_BUCKETS,
    MOST_ROWS,
    OTHERS,
    Endpoints,
    Sample,
    Series,
)


def written(kind: type[JsonLines | CsvLines], *connections: Connection, **fields: object) -> str:
    file = StringIO()
    lines = kind(file)
    for each in connections:
        lines.take(each)
    lines.end(reading(*connections, **fields))  # type: ignore[arg-type]
    return file.getvalue()


def test_the_json_has_everything() -> None:
    document = json.loads(written(JsonLines, *SEVERAL, warnings=("cut short",)))
    assert document["schema"] == 2
    assert document["warnings"] == ["cut short"]
    assert document["outcomes"]["accepted"]["connections"] == 2
    assert document["total"]["sent"] == 60
    server = document["servers"]["192.0.2.7:80"]
    assert server["outcomes"] == {"accepted": 2, "refused-cookie": 1}
    assert document["subnets"]["192.0.2.0/24"]["connections"] == 4
    (rule,) = document["problems"]
    assert rule == {
        "rule": "OPT-1: the length is odd",
        "severity": "warning",
        "times": 1,
        "frames": [12],
    }
    assert [each["began"] - 1_700_000_000 for each in document["connections"]] == [0, 1, 2, 3]
    assert document["connections"][0]["cookie"] == "0011223344556677"
    assert [each["accepted"] for each in document["series"]] == [1, 1, 0, 0]


def test_the_csv_has_a_line_for_each_connection_and_no_formula() -> None:
    rows = list(csv.DictReader(StringIO(written(CsvLines, *SEVERAL, connection(4, why="=1+1")))))
    assert [row["outcome"] for row in rows] == [each.outcome for each in SEVERAL] + ["accepted"]
    assert (rows[0]["frames"], rows[3]["rtt"]) == ("1 2", "")
    assert rows[3]["problems"].startswith("OPT-1: the length is odd (12)")
    assert rows[4]["why"] == "'=1+1"


def lost(number: int, **fields: object) -> Connection:
    how = {"acknowledged": 0, "round_trips": -1, "seconds_lost": 1.05, **fields}
    return connection(number, "syn-lost-fallback", **how)


class TestCounting:
    def test_pairs_that_lose_every_syn_with_data_are_blackholes(self) -> None:
        others = [lost(10, server="192.0.2.8"), connection(11, server="192.0.2.8")]
        once = lost(20, server="192.0.2.9")
        summary = reading(*(lost(number) for number in range(4)), *others, *others, once)
        (pair,) = summary.blackholes
        assert (pair.server, pair.lost) == ("192.0.2.7:80", 4)
        assert pair.seconds_lost == pytest.approx(4.2)
        assert "BLACKHOLES (1)" in text_of(summary)
        assert "Blackholes" in html_page(summary)

    def test_seconds_lost_and_saved(self) -> None:
        summary = reading(lost(0), connection(1, rtt=0.25), connection(2, rtt=None))
        assert summary.total.seconds_lost == pytest.approx(1.05)
        assert summary.total.seconds_saved == pytest.approx(0.25)
        assert "saved: 0.2 s; waited for lost SYNs: 1.1 s" in summary.headline()

    def test_a_series_gets_coarser_in_whatever_order_times_come(self) -> None:
        times = [1000.0 * n for n in range(500)]
        for ordered in (times, times[::-1]):
            series = Series()
            for when in ordered:
                series.add(connection(began=when))
            buckets = list(series.buckets())
            assert len(buckets) <= MOST_BUCKETS
            assert sum(each.counts["accepted"] for each in buckets) == 500
            assert len(list(series.coarse(10).buckets())) <= 10
            assert len(list(series.buckets())) == len(buckets)

    def test_a_median_of_many_is_that_of_a_sample(self) -> None:
        sample = Sample()
        for value in range(100_000):
            sample.add(float(value))
        assert sample.median == pytest.approx(50_000, rel=0.1)

    def test_hosts_beyond_the_most_are_one_row(self) -> None:
        rows = Endpoints()
        for number in range(MOST_ROWS + 5):
            rows.add(str(number), SEVERAL[0])
        assert [each.connections for each in rows.ordered() if each.name == OTHERS] == [5]
        assert len(rows.ordered()) == MOST_ROWS + 1
