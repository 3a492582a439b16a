"""Requests of the service's own go to the address that was given, and to no other."""

from __future__ import annotations

from typing import Any
from urllib.request import HTTPRedirectHandler


class NoRedirects(HTTPRedirectHandler):
    """A token goes to the service that was named, and keys come from where the issuer says."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Nowhere else."""
