"""What is asked of a target that is not our own before its stack is judged."""

from __future__ import annotations

from scapy_tfo.errors import TargetError
from scapy_tfo.segment import endpoint
from scapy_tfo.suite.outcome import Ending, Failed
from scapy_tfo.suite.peer import Peer


async def meet_the_application(peer: Peer) -> None:
    """Ask the main listener for one answer on a plain connection, and hang up.

    Raises TargetError where it is answered wrongly: another application runs there than the one
    named, and the stack would be blamed for it. Silence tells nothing here.
    """
    try:
        await peer.still_serves()
    except Failed as ending:
        where = endpoint(peer.address, peer.main.port)
        raise TargetError(
            f"{where} does not answer a plain connection as --app {peer.main.app.name} has it "
            f"({ending.reason}): what runs there?"
        ) from ending
    except Ending:
        return
    finally:
        peer.hang_up()
