"""What every page is sent with: its policy, and that nobody keeps it."""

from __future__ import annotations

from starlette.responses import Response

_POLICY = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
HEADERS = {
    "content-security-policy": _POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with none at all, a browser would not say where a form comes from
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def download(content: str | bytes, name: str, kind: str) -> Response:
    """A file for whoever asked. Its name is ours, never one from the data."""
    headers = HEADERS | {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=headers, media_type=kind)
