"""`scapy-tfo dissector`: installs the Wireshark plugin, and checks that it works."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from scapy_tfo.commands.arguments import described
from scapy_tfo.errors import SetupError

if TYPE_CHECKING:
    from scapy_tfo.dissector.folders import Folders
    from scapy_tfo.dissector.install import Places

SUMMARY = "install and check the Wireshark plugin: install, path, check"

_INSTALL = """Install the plugin where Wireshark and tshark look for a user's Lua plugins.

--profile also installs a Wireshark profile with colours, filter buttons and columns for fast open:
'wireshark -C fast-open', or Edit, Configuration Profiles. A running Wireshark loads the plugin with
Analyze, Reload Lua Plugins. Files that are not ours, or were changed, are kept unless --force is
given."""

_PATH = """Print the path of the plugin, for

  tshark -X lua_script:$(scapy-tfo dissector path) -r FILE -z tfo,outcome -q

With --all, also print where it is installed, and the folders that Wireshark looks in."""

_CHECK = """Let tshark read a small capture with known outcomes: first with the plugin of this
package, then with the installed plugins, as Wireshark does.

exit status: 0 the installed plugin works, 1 it does not (the output says what to do), 2 there is no
tshark"""


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`dissector` and its subcommands."""
    group = commands.add_parser("dissector", help=SUMMARY, allow_abbrev=False)
    below = group.add_subparsers(metavar="COMMAND", required=True)
    parser = described(below, "install", "install the plugin", _INSTALL)
    parser.set_defaults(command=_install)
    add = parser.add_argument
    add("--profile", action="store_true", help="also the profile (colours, buttons, columns)")
    add("--remove", action="store_true", help="remove it again, with --profile the profile, too")
    add("--force", action="store_true", help="also replace or remove files that are not ours")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--system", action="store_true", help="for every user; needs tshark")
    place.add_argument("--into", type=Path, metavar="DIR", help="into this folder of Lua plugins")
    parser = described(below, "path", "print the path of the plugin", _PATH)
    parser.set_defaults(command=_path)
    parser.add_argument("--all", action="store_true", help="also print where Wireshark looks")
    parser = described(below, "check", "check that the plugin works", _CHECK)
    parser.set_defaults(command=_check)


def _install(chosen: argparse.Namespace) -> int:
    from scapy_tfo.dissector import install

    where = _folders()
    places = _places(chosen, where)
    act = install.remove if chosen.remove else install.install
    changes = act(places, force=chosen.force)
    for each in changes:
        print(f"{each.what} {each.path}")
    if chosen.remove:
        if not changes:
            print(f"nothing to remove: there is no {places.plugin}")
        return 0
    if chosen.profile:
        print(f"the profile is '{install.PROFILE_NAME}': wireshark -C {install.PROFILE_NAME}")
    return _say_what_is_left_to_do(chosen, where)


def _say_what_is_left_to_do(chosen: argparse.Namespace, where: Folders) -> int:
    from scapy_tfo.dissector import check, tshark

    if tshark.path_of_tshark() is None:
        print("there is no tshark to try it with; Wireshark lists it under About, Plugins")
    elif chosen.into is not None and chosen.into != where.plugins:
        print(f"Wireshark itself looks in {where.plugins}")
    else:
        advice = check.root_advice(tshark.find(), where)
        if advice and not chosen.system:
            print(advice)
        else:
            print("try it with: scapy-tfo dissector check")
    return 0


def _path(chosen: argparse.Namespace) -> int:
    from scapy_tfo.dissector import check, files

    if not chosen.all:
        print(files.plugin())
        return 0
    where = _folders()
    copies = check.installed_copies(where)
    rows = [
        ("plugin", files.plugin()),
        ("profile", files.profile()),
        ("sample", files.sample()),
        ("installed", ", ".join(map(str, copies)) or "nowhere"),
        ("folder for plugins", where.plugins),
        ("the same for all users", where.system_plugins or "(unknown without tshark)"),
        ("folder for profiles", where.profiles),
    ]
    for name, what in rows:
        print(f"{name:<24}{what}")
    return 0


def _check(_chosen: argparse.Namespace) -> int:
    from scapy_tfo.dissector import check, tshark

    findings = check.check(tshark.find(), _folders())
    marks = {True: "ok", False: "NO", None: "--"}
    for each in findings:
        print(f"{marks[each.is_good]}  {each.text}")
    return int(any(each.is_good is False for each in findings))


def _folders() -> Folders:
    from scapy_tfo.dissector import folders, tshark

    return folders.folders(tshark.path_of_tshark())


def _places(chosen: argparse.Namespace, where: Folders) -> Places:
    from scapy_tfo.dissector.install import Places

    plugins = chosen.into or where.plugins
    if chosen.system:
        if where.system_plugins is None:
            raise SetupError(
                "only tshark knows the folder of plugins for all users, and it is not on PATH: "
                "give --into DIR"
            )
        plugins = where.system_plugins
    return Places(plugins, where.profiles if chosen.profile else None)
