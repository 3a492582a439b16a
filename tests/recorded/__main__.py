"""Record anew: only where what is released from given bits, or said, or refused, is meant to change."""

import json
import tempfile
from pathlib import Path

from tests.recorded.cases import CASES
from tests.recorded.cases_rho import CASES_IN_RHO
from tests.recorded.digests import FILE, FILE_IN_RHO, digest_of
from tests.recorded.kept import record
from tests.recorded.tables import answers
from tests.recorded.tables.rows import files

for file, cases in ((FILE, CASES), (FILE_IN_RHO, CASES_IN_RHO)):
    recorded = {name: digest_of(case) for name, case in sorted(cases.items())}
    file.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")
    print(
        f"{sum(entry['releases'] for entry in recorded.values())} releases of {len(recorded)} cases recorded"
    )
for line in record():
    print(line)
with tempfile.TemporaryDirectory() as folder:
    files(Path(folder))
    answers.FILE.write_text(answers.written(Path(folder)), encoding="utf-8")
print(f"{sum(map(len, answers.QUESTIONS.values()))} questions about tables recorded")
