"""Turn into another command that ends when the parent ends.

Run as a program: `python tether.py PARENT_PID COMMAND [ARGUMENT...]`. It asks Linux for SIGTERM at the death of its
parent and then becomes the command, so the process id stays the same. A program of its own rather than code between
fork and exec: nothing may happen there that takes a lock in a process with threads. Elsewhere than on Linux it only
becomes the command.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Does not return. Exits 1 when the parent is gone already."""
    parent = int(arguments[0])
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        # The parent may have died before the request was made.
        if os.getppid() != parent:
            sys.exit(1)
    os.execv(arguments[1], arguments[1:])  # noqa: S606  # no shell: the arguments are ours


if __name__ == "__main__":
    main(sys.argv[1:])
