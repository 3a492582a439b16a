"""`freegap receipt`: what a release was and cost, signed, for whoever has the public key."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from freegap.budget.ledger import Ledger
from freegap.cli.terminal import print_json
from freegap.errors import InvalidArgument, printable
from freegap.receipts.assess import as_html, as_markdown, parts_of
from freegap.receipts.keys import SigningKey, place_of_key, public_keys
from freegap.receipts.receipt import LARGEST, Receipt, ReceiptRefused, make_receipt
from freegap.receipts.registry import CURATOR_TYPES, SECTORS, as_yaml, registry_fields
from freegap.values.written import json_text

app = typer.Typer(name="receipt", help="Make and check signed receipts of releases.", no_args_is_help=True)

_LARGEST_RELEASE = 2**26
_FILE: Path = typer.Argument(help="The receipt.", metavar="FILE", show_default=False)
_KEY: str | None = typer.Option(
    None,
    help="The public key of whoever signs: ed25519:…, or a file with it, or with several.",
    show_default=False,
)
_KEY_FILE: Path | None = typer.Option(
    None,
    help="The private key, made if it is not there. Without it FREEGAP_RECEIPT_KEY, else a file beside your "
    "default ledger.",
    show_default=False,
)
_URL: str | None = typer.Option(
    None, "--url", help="The ledger. Without it FREEGAP_LEDGER, else your default one.", show_default=False
)
_JSON: bool = typer.Option(False, "--json", help="Print JSON.")
_OUT: Path | None = typer.Option(None, help="Write to this file.", show_default=False)


@app.callback()
def _receipt() -> None:
    """Make and check signed receipts of releases."""


@app.command()
def make(
    line: int = typer.Argument(
        help="The line of the release, as `budget show` lists it.", show_default=False
    ),
    url: str | None = _URL,
    key_file: Path | None = _KEY_FILE,
    out: Path | None = _OUT,
    as_json: bool = typer.Option(False, "--json", help="With --out, print as JSON what was written."),
) -> None:
    """Make the receipt of a release from its line of the ledger."""
    made = make_receipt(Ledger(url), line, SigningKey.made(place_of_key(key_file)))
    _deliver(made.to_bytes().decode("utf-8"), out)
    if as_json and out is not None:
        print_json({"file": str(out), "line": line, "key": made.body["key"]})


@app.command()
def key(key_file: Path | None = _KEY_FILE, out: Path | None = _OUT, as_json: bool = _JSON) -> None:
    """Print the public key, for those who are to check receipts."""
    public = SigningKey.made(place_of_key(key_file)).public.text
    _deliver(json_text({"key": public}, indent=2) if as_json else f"{public}\n", out)


@app.command()
def verify(
    file: Path = _FILE,
    key: str = typer.Option(
        ...,
        help="The public key of whoever signs: ed25519:…, or a file with it, or with several.",
        show_default=False,
    ),
    release: Path | None = typer.Option(
        None, help="The release as JSON: the receipt must be of this one.", show_default=False
    ),
    url: str | None = typer.Option(
        None, "--url", help="A ledger that must have the lines of the receipt.", show_default=False
    ),
    as_json: bool = typer.Option(False, "--json", help="Print what the receipt says, as JSON."),
) -> None:
    """Check a receipt, offline, with the public key alone. Exit code 1 if it is refused."""
    signers = public_keys(key)
    data, released = _read(file, LARGEST), None if release is None else _read(release, _LARGEST_RELEASE)
    try:
        found = Receipt.read(data)
        found.check(*signers)
        if released is not None:
            found.check_release(released)
        if url is not None:
            found.check_ledger(Ledger(url))
    except ReceiptRefused as reason:
        typer.echo(printable(f"Refused. {reason}"))
        raise typer.Exit(1) from None
    if as_json:
        print_json(found.body)
    else:
        typer.echo("\n".join(map(printable, _summary(found, release is not None, url is not None))))


@app.command()
def registry(
    file: Path = _FILE,
    key: str | None = _KEY,
    name: str | None = typer.Option(None, help="The name of the data product.", show_default=False),
    curator: str | None = typer.Option(None, help="Who publishes it.", show_default=False),
    curator_type: str | None = typer.Option(None, help=f"{', '.join(CURATOR_TYPES)}.", show_default=False),
    description: str | None = typer.Option(None, help="What it is.", show_default=False),
    use: str | None = typer.Option(None, help="What it is for.", show_default=False),
    region: str | None = typer.Option(None, help="Where its people live.", show_default=False),
    sector: str | None = typer.Option(None, help=f"{', '.join(SECTORS)}.", show_default=False),
    author: str | None = typer.Option(None, help="Who writes the entry.", show_default=False),
    out: Path | None = _OUT,
    as_json: bool = _JSON,
) -> None:
    """Write the entry for the public registry of deployments, as far as the receipt knows it."""
    owner = {
        "name": name,
        "curator": curator,
        "curator_type": curator_type,
        "description": description,
        "use": use,
        "region": region,
        "sector": sector,
        "author": author,
    }
    fields = registry_fields(_found(file, key), owner)
    _deliver(json_text(fields, indent=2) if as_json else as_yaml(fields), out)


@app.command()
def assess(
    file: Path = _FILE,
    key: str | None = _KEY,
    html: bool = typer.Option(False, "--html", help="A page instead of Markdown."),
    out: Path | None = _OUT,
    as_json: bool = _JSON,
) -> None:
    """Write a self-assessment in the order of NIST SP 800-226."""
    found, checked = _found(file, key), key is not None
    if as_json:
        _deliver(json_text([asdict(part) for part in parts_of(found.body, checked=checked)], indent=2), out)
    else:
        _deliver((as_html if html else as_markdown)(found, checked=checked), out)


def _found(file: Path, key: str | None) -> Receipt:
    """The receipt of a file; with a key, one that it has signed."""
    try:
        found = Receipt.read(_read(file, LARGEST))
        if key is None:
            typer.echo("freegap: the signature is not checked without --key.", err=True)
        else:
            found.check(*public_keys(key))
    except ReceiptRefused as reason:
        typer.echo(printable(f"Refused. {reason}"), err=True)
        raise typer.Exit(1) from None
    return found


def _summary(receipt: Receipt, with_release: bool, with_ledger: bool) -> list[str]:
    body = receipt.body
    asked, charge = body["asked"], body["charge"]
    delta = "" if asked["delta"] is None else f", δ = {asked['delta']}"
    rows = [] if body["evidence"] is None else body["evidence"]["rows"]
    held_against = [
        *(["It is of the release that was given."] if with_release else []),
        *(["The ledger has its lines."] if with_ledger else []),
    ]
    return [
        f"The receipt is signed by {body['key']}.",
        f"Dataset {body['dataset']}, line {body['ledger']['line']}, {body['when']}: {asked['what']}",
        f"Asked {asked['measure']} {asked['amount']}{delta}; charged {charge['charged']} in "
        f"{charge['unit']}, {charge['state']}.",
        *dict.fromkeys(f"Theorem: {row['theorem']}" for row in rows),
        f"Ledger line {body['ledger']['reserved']}",
        *held_against,
    ]


def _read(file: Path, largest: int) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(largest + 1)
    except OSError as error:
        raise InvalidArgument(
            "file", str(file), f"cannot be read ({error.strerror})", "Name another file."
        ) from None


def _deliver(text: str, out: Path | None) -> None:
    if out is None:
        typer.echo(text.removesuffix("\n"))
        return
    try:
        out.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InvalidArgument(
            "out", str(out), f"cannot be written ({error.strerror})", "Name another file."
        ) from None
