"""Run a command in a process that the kernel kills as soon as it, or a child of it, opens an internet socket.

    python -m tests.offline COMMAND…

The filter is a seccomp program: it sees every system call, also those of compiled libraries. Sockets
between processes of one machine (AF_UNIX) are let through.
"""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import struct
import sys

_CALLS = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}  # architecture, number of socket()
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_NUMBER, _ARCHITECTURE, _FAMILY = 0, 4, 16  # places in struct seccomp_data
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2


def supported() -> bool:
    return sys.platform == "linux" and platform.machine() in _CALLS


def refuse_internet() -> None:
    """From here on, socket(AF_INET, …) and socket(AF_INET6, …) kill this process and its children."""
    architecture, call = _CALLS[platform.machine()]
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, 5, architecture),
        (_LOAD, 0, 0, _NUMBER),
        (_EQUAL, 0, 3, call),
        (_LOAD, 0, 0, _FAMILY),
        (_EQUAL, 2, 0, int(socket.AF_INET)),
        (_EQUAL, 1, 0, int(socket.AF_INET6)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _KILL),
    ]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code)
    header = ctypes.create_string_buffer(struct.pack("HL", len(program), ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SET_SECCOMP, _FILTER, header, 0, 0)):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    refuse_internet()
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606
