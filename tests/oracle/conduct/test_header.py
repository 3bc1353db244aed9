"""What the IP header may say."""

from __future__ import annotations

import pytest

from tests.oracle.conduct import later_talk
from tests.oracle.conduct.conversation import Conversation


@pytest.mark.parametrize(("size", "broken"), [(28, []), (29, ["id-repeated"])])
def test_packets_that_all_routers_forward_whole_may_have_one_identification(
    size: int, broken: list[str]
) -> None:
    talk = Conversation(ordered=True)
    later_talk.alike(talk, size, 0, 0, 0)
    assert talk.broken == broken
