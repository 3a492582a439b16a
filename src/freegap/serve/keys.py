"""A question that is sent again with the same key has the same answer, and is paid once.

A client that hears nothing does not know whether its question was asked. It sends a key with the question,
and the same key when it sends it again. What is known of a key is in the ledger alone (`budget.once`): what
was reserved and how it ended. So whatever crashed meanwhile, a question that was reserved is never drawn
again by its key.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any

from freegap.budget.arguments import parameters_text
from freegap.budget.ledger import Ledger
from freegap.budget.lines import lines_of
from freegap.errors import InvalidArgument
from freegap.serve import database
from freegap.serve.questions import FIELDS, AllowedQuestion
from freegap.serve.sources import Source
from freegap.serve.workers import GRACE

HEADER = "Idempotency-Key"
_KEY = re.compile(r"[!-~]{1,255}")
_PAID = "This question was asked before with this key, and is charged: nothing was charged or drawn now."
_ANEW = "With another key it is asked, and paid, anew."


def key_argument(key: object) -> str:
    """A key as clients may send it.

    >>> key_argument("6f1c0d3e")
    '6f1c0d3e'
    """
    if not isinstance(key, str) or _KEY.fullmatch(key) is None:
        shown = key[:40] if isinstance(key, str) else f"<{type(key).__name__}>"
        raise InvalidArgument(
            HEADER, shown, "must be 1 to 255 visible ASCII characters, without blanks", "Send a random one."
        )
    return key


def question_text(question: AllowedQuestion) -> str:
    """A question as one text, whichever way its numbers were written."""
    asked = parameters_text(question.arguments)
    return f"{question.source} {question.mechanism} {asked}"


def refused_key() -> InvalidArgument:
    """The error for a key that is used twice, for two questions."""
    return InvalidArgument(
        HEADER, "<sent>", "belongs to another question of yours", "Send a new key with a new question."
    )


def outcome_before(
    ledger: Ledger, line: int, question: AllowedQuestion, source: Source, seconds: float
) -> dict[str, Any]:
    """What is told of a question whose key has reserved in this line. seconds: how long a question may take.

    It is the release; or that the key was used for another question; or that there is no release (yet).
    """
    lines = lines_of(ledger, line)
    reserved = lines.reserved.entry()
    asked = json.loads(parameters_text(question.arguments))
    before = {name: value for name, value in reserved.parameters.items() if name in FIELDS}
    if not source.is_dataset(reserved.dataset) or (reserved.what, before) != (question.mechanism, asked):
        return {"status": "refused", "error": str(refused_key())}
    if lines.closed is not None:
        try:
            return {"status": "released", "line": line, "release": ledger.release(line)}
        except InvalidArgument:
            return {
                "status": "unanswered",
                "line": line,
                "error": f"{_PAID} Its release was not kept. {_ANEW}",
            }
    until = datetime.fromisoformat(reserved.when) + timedelta(seconds=seconds + GRACE)
    left = int((until - database.now()).total_seconds())
    if left > 0:
        told = (
            f"{_PAID} It has no answer yet, or was ended. Send it again, at the latest in {left} s to know."
        )
        return {"status": "unfinished", "line": line, "error": told}
    told = f"{_PAID} It was ended before there was an answer, and stays charged in full. {_ANEW}"
    return {"status": "unanswered", "line": line, "error": told}
