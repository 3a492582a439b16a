"""Search for a counterexample in a mechanism that claims to be private (000, chapter 4).

A mechanism is any callable whose first argument is the list of answers. The audit never imports a
mechanism; it sees them through that protocol alone.
"""

import sys
from types import ModuleType
from typing import Any

from freegap.audit.report import AuditReport, Counterexample
from freegap.audit.run import assert_private, audit

__all__ = ["AuditReport", "Counterexample", "assert_private", "audit"]


class _CallableModule(ModuleType):
    """`freegap.audit` is a package and a function of that name; once the package is imported, Python
    binds the name to the package, so the package can be called as well."""

    def __call__(self, *arguments: Any, **settings: Any) -> AuditReport:
        return audit(*arguments, **settings)


sys.modules[__name__].__class__ = _CallableModule
