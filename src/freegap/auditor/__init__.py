"""Search for a counterexample in a mechanism that claims to be private (Ding 2020, chapter 4).

A mechanism is any callable whose first argument is the list of answers. The audit never imports a
mechanism; it sees them through that protocol alone.
"""

from freegap.auditor.counterexample import Counterexample
from freegap.auditor.programs import Command
from freegap.auditor.report import AuditReport
from freegap.auditor.run import assert_private, audit

__all__ = ["AuditReport", "Command", "Counterexample", "assert_private", "audit"]
