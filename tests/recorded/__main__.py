"""Record anew: only where what is released from given bits is meant to change."""

import json

from tests.recorded.cases import CASES
from tests.recorded.digests import FILE, digest_of

recorded = {name: digest_of(case) for name, case in sorted(CASES.items())}
FILE.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")
print(f"{sum(entry['releases'] for entry in recorded.values())} releases of {len(recorded)} cases recorded")
