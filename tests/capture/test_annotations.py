"""A change that a case makes to its target is a comment on the next packet that it sends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scapy_tfo.capture.annotations import Change, changes_in
from scapy_tfo.lab.hooks import ListenerOptions

keys = st.lists(st.binary(min_size=16, max_size=16), min_size=1, max_size=2).map(tuple)
ports = st.integers(1, 65535)
changes = st.one_of(
    st.builds(Change, port=ports),
    st.builds(Change, port=ports, keys=keys),
    st.builds(
        Change,
        port=ports,
        options=st.builds(
            ListenerOptions,
            st.sampled_from(["echo", "send:20000"]),
            st.integers(0, 8192),
            st.just(()) | keys,
            st.integers(1, 16384),
        ),
    ),
)


@given(st.lists(changes, min_size=1, max_size=3), st.sampled_from(["", "again", "one; two"]))
def test_a_comment_says_all_that_was_changed(made: list[Change], note: str) -> None:
    comment = "; ".join([*map(str, made), *filter(None, [note])])
    assert changes_in(comment) == (tuple(made), note)


def test_other_comments_stay_as_they_are() -> None:
    assert changes_in("before it, nothing; twice") == ((), "before it, nothing; twice")
