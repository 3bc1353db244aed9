"""Needs that a case may have, and how a user meets each."""

_WAY = "give a target file whose hooks have it (docs/hooks.md), or use lab: or sim:"

NEEDS = {
    "answer": "an application that answers: give --app echo or --app http",
    "echo": "an echo application: run one on the target and give --app echo",
    "bulk": "an echo application that returns 100,000 bytes: run one of docs/echo, --app echo",
    "two_addresses": "a second source address: give --source A B, and --intrusive",
    "listeners": f"the hook 'listen', which makes listeners to order: {_WAY}",
    "close": f"the hook 'close', which closes a listener: {_WAY}",
    "sessions": f"the hook 'sessions', the application's own word: {_WAY}",
    "key_hook": f"the hook 'keys', which changes the cookie key: {_WAY}",
    "plain_port": "a listener with fast open off: give --plain-port, or use lab: or sim:",
    "second_port": "a second listener with fast open: give --second-port, or use lab: or sim:",
    "counters": f"the hook 'counters', the target's own counters: {_WAY}",
}
"""What a case may need of its target, and how a user meets the need."""

VERBS_NEEDED = {
    "listeners": ("listen",),
    "close": ("listen", "close"),
    "sessions": ("sessions",),
    "key_hook": ("listen", "keys"),
}
"""The verbs of hooks that meet a need."""
