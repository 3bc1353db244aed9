"""Runs a reproduction of this folder against a stack that a target file of docs/stacks describes.

    docs/stacks/with-tap.sh python3 docs/found/at.py docs/stacks/freebsd/stack.toml SCRIPT.py

The stack is built first, as the README beside its target file says. It is started, gets an echo
server on port 7 where its file names an agent (with fast open where it can), and ends with this
program, whose exit status is the script's: 0 the fault does not show, 1 it does.
"""

import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path

PORT = 7


def asked(channel, *questions):
    """The agent's answer to the first line that it does. Raises SystemExit where it does none."""
    for question in questions:
        channel.write(question + "\n")
        channel.flush()
        answer = channel.readline().strip()
        if answer.startswith("ok"):
            return answer
    raise SystemExit(f"the agent: {answer}")


def served(path):
    """The stack's agent with an echo server, to be kept until the end."""
    agent = socket.socket(socket.AF_UNIX)
    agent.connect(str(path))
    channel = agent.makefile("rw")
    asked(channel, "hello 1")
    # Without fast open where the stack has none.
    asked(channel, f"listen echo 512 16384 {PORT}", f"listen echo 0 16 {PORT}")
    return channel


def main(file, script):
    here = Path(file).parent
    given = tomllib.loads(Path(file).read_text("utf-8"))
    command = given["start"]["command"]
    if not (here / command[0]).exists():
        raise SystemExit(f"{here / command[0]} is not built: see {here / 'README.md'}")
    stack = subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, text=True)
    try:
        if not any(given["start"]["ready"] in line for line in stack.stdout):
            raise SystemExit("the stack did not start")
        agent = served(here / given["hooks"]["socket"]) if "hooks" in given else None
        time.sleep(0.2)
        done = subprocess.run([sys.executable, script, given["address"][0], str(PORT)], check=False)
        del agent
        return done.returncode
    finally:
        stack.terminate()
        stack.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
