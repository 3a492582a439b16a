"""Letters that a terminal or a file cannot take are spelt out, so that nothing that is paid for is lost."""

from __future__ import annotations

import codecs
from typing import Any

_SPELT = dict(
    zip(
        "ερδη≈≤≥·…—–█▒░▁▂▃▄▅▆▇▸±",
        "epsilon rho delta eta ~ <= >= * ... - - # + . . . - - = = # > +-".split(),
        strict=True,
    )
)
_SPELLING = "freegap.spelt"


def spell_out(*streams: Any) -> None:
    """Never fail for a letter that a stream cannot encode: a release that is paid for is shown all the same.

    ε is written "epsilon" there; another letter by its number, so that two names never become one.
    """
    codecs.register_error(_SPELLING, _spelt)
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_SPELLING)


def _spelt(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    if letter in _SPELT:
        return _SPELT[letter], error.start + 1
    return codecs.backslashreplace_errors(error)
