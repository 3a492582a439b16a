"""Files that cannot be read where they are: standard input, and texts in another encoding than UTF-8.

They are copied, in UTF-8, into a folder that nobody else may open and that is removed afterwards.

Bytes that mean nothing in an encoding become U+FFFD, each by itself: an error would tell that somebody's row
has some. So an encoding must be one in which no byte, right or wrong, can swallow the end of its line: UTF-8,
UTF-16, and those with one byte for each character.
"""

from __future__ import annotations

import codecs
import gzip
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from freegap.errors import InvalidArgument
from freegap.tables.engine_errors import ask_engine

_WIDE = frozenset({"utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"})
_ESCAPES = rb"\x41 \u0041 \101" + b"\\\n"
"""What encodings with escapes read as something else: a line may then go on into the next person's."""
_PIECE = 1 << 20


def encoding_argument(encoding: Any) -> str | None:
    """The name of an encoding by which every file can be read, whatever bytes it has.

    >>> encoding_argument("latin1"), encoding_argument("UTF16")
    ('iso8859-1', 'utf-16')
    """
    if encoding is None:
        return None
    try:
        name = codecs.lookup(encoding).name
        known = name in _WIDE or (
            _ESCAPES.decode(name, "replace") == _ESCAPES.decode("ascii")
            and bytes(range(128)).decode(name) == "".join(map(chr, range(128)))
            and len(bytes(range(256)).decode(name, "replace")) == 256
        )
    except (LookupError, TypeError, ValueError):
        known = False
    if not known:
        raise InvalidArgument(
            "encoding",
            encoding,
            "must be utf-8, utf-16, or one with one byte for each character, such as latin-1 or cp1252",
            "Convert the file to UTF-8.",
        )
    return name


@contextmanager
def copied(files: list[str], encoding: str | None, ending: str) -> Iterator[list[str]]:
    """The files, or copies of them in UTF-8; "-" is standard input."""
    if encoding is None and files != ["-"]:
        yield files
        return
    folder = tempfile.mkdtemp(prefix="freegap-")
    try:
        copies = []
        for number, file in enumerate(files):
            copies.append(str(Path(folder) / f"{number}.{ending}"))
            ask_engine(partial(_copy, file, copies[-1], encoding))
        yield copies
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _bytes_of(file: str) -> Iterator[Any]:
    if file == "-":
        yield sys.stdin.buffer
    elif file.lower().endswith(".gz"):
        with gzip.open(file, "rb") as unpacked:
            yield unpacked
    elif file.lower().endswith(".zst"):
        raise InvalidArgument(
            "encoding", file, "cannot be given for a file in .zst", "Unpack it, or convert it to UTF-8."
        )
    else:
        with Path(file).open("rb") as plain:
            yield plain


def first_bytes(file: str, most: int) -> bytes:
    """The first line of a file, or as much of it; where lines end with a carriage return, more of them."""
    with _bytes_of(file) as read:
        line: bytes = read.readline(most)
    return line


def _copy(file: str, copy: str, encoding: str | None) -> None:
    with _bytes_of(file) as read, Path(copy).open("wb") as write:
        if encoding is None:
            shutil.copyfileobj(read, write, _PIECE)
            return
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        while piece := read.read(_PIECE):
            write.write(decoder.decode(piece).encode("utf-8", "replace"))
        write.write(decoder.decode(b"", final=True).encode("utf-8", "replace"))
