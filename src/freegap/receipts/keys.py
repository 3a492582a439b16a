"""The key that receipts are signed with: Ed25519, made at first use, in a file that its owner alone can read.

A public key is one line of text, `ed25519:` and 43 characters; whoever is to check receipts gets it by a way
they trust. A signature is over the bytes that are signed with a heading before them, so that a signature for
one kind of thing is none for another.

When a key is replaced, the private one is gone, and the public one is kept beside the new: what it has signed
can be checked as before.
"""

from __future__ import annotations

import base64
import binascii
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from freegap.errors import REDACTED, InvalidArgument

_HEADING = b"freegap receipt\n"
_NAME = "ed25519:"
_LONGEST_LIST = 10_000
_WINDOWS = os.name == "nt"  # which has no modes; a file in the user's folder is the user's


class PublicKey:
    """What receipts are checked with.

    >>> public_key("ed25519:" + "A" * 43).text
    'ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    """

    def __init__(self, raw: bytes) -> None:
        self._key = Ed25519PublicKey.from_public_bytes(raw)
        self.text = _NAME + base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")

    def signed(self, data: bytes, signature: str) -> bool:
        """Whether this key has signed these bytes. One signature has one text."""
        raw = _decoded(signature, 64)
        if raw is None:
            return False
        try:
            self._key.verify(raw, _HEADING + data)
        except InvalidSignature:
            return False
        return True


class SigningKey:
    """The private key, read from its file; `made` there if none is."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def sign(self, data: bytes) -> str:
        """A signature of these bytes as text."""
        return base64.urlsafe_b64encode(self._key.sign(_HEADING + data)).decode("ascii").rstrip("=")

    @staticmethod
    def read(file: Path) -> SigningKey:
        """The key of a file, which nobody else may be able to read."""
        try:
            with file.open("rb") as opened:
                mode, pem = os.fstat(opened.fileno()).st_mode, opened.read(10_000)
        except OSError as error:
            raise InvalidArgument(
                "key_file", str(file), f"cannot be read ({error.strerror})", "Name another file."
            ) from None
        if not _WINDOWS and mode & 0o077:
            raise InvalidArgument(
                "key_file",
                str(file),
                "can be read or changed by others than its owner",
                f"If nobody has: chmod 600 {file}. Else make a new key, and tell who uses the old.",
            )
        key: object = None
        with suppress(ValueError, TypeError):
            key = load_pem_private_key(pem, None)
        if not isinstance(key, Ed25519PrivateKey):
            raise InvalidArgument(
                "key_file", str(file), "holds no Ed25519 key", "Name another file, or one that is not there."
            )
        return SigningKey(key)

    @staticmethod
    def made(file: Path) -> SigningKey:
        """The key of a file; where there is no file, a new key. Of two who make one at once, one does."""
        if not file.is_symlink() and not file.exists():
            _place(file, _new_pem())
        return SigningKey.read(file)

    @staticmethod
    def replaced(file: Path) -> SigningKey:
        """A new key in the place of the old one, whose public part is noted among the earlier ones first.

        >>> folder = Path(tempfile.mkdtemp())
        >>> old = SigningKey.made(folder / "key.pem").public.text
        >>> SigningKey.replaced(folder / "key.pem").public.text == old
        False
        >>> [key.text for key in earlier_keys(folder / "key.pem")] == [old]
        True
        """
        old = SigningKey.read(file).public.text
        known = [key.text for key in earlier_keys(file)]
        lines = [*known, *([] if old in known else [old])]
        _place(_earlier(file), "".join(f"{line}\n" for line in lines).encode("ascii"), replace=True)
        _place(file, _new_pem(), replace=True)
        return SigningKey.read(file)


def earlier_keys(file: Path) -> list[PublicKey]:
    """The public keys that were in use before that of this file, the oldest first."""
    kept = _earlier(file)
    return public_keys(str(kept)) if kept.exists() and kept.stat().st_size else []


def _earlier(file: Path) -> Path:
    return file.with_name(f"{file.name}.earlier")


def _new_pem() -> bytes:
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def place_of_key(argument: str | os.PathLike[str] | None) -> Path:
    """Where the private key is: as told, or FREEGAP_RECEIPT_KEY, or beside the default ledger."""
    told = argument or os.environ.get("FREEGAP_RECEIPT_KEY")
    if told:
        return Path(told)
    from freegap.budget.location import default_file

    return default_file().with_name("receipt-key.pem")


def public_key(argument: str) -> PublicKey:
    """A public key, by its text or by the name of a file that holds it, or it and earlier ones."""
    return public_keys(argument)[-1]


def public_keys(argument: str) -> list[PublicKey]:
    """The public keys of a file, one a line; or one by its text."""
    text = argument
    if not text.startswith(_NAME):
        try:
            with Path(argument).open(encoding="ascii") as file:
                text = file.read(_LONGEST_LIST).strip()
        except (OSError, ValueError):
            pass
    lines = text.split("\n")
    raws = [_decoded(line.removeprefix(_NAME), 32) if line.startswith(_NAME) else None for line in lines]
    keys = [PublicKey(raw) for raw in raws if raw is not None]
    if len(keys) != len(lines):
        raise InvalidArgument(
            "key",
            REDACTED if "PRIVATE" in text else argument,
            "is no public key, and no file with one",
            "Pass what `freegap receipt key` prints for whoever signs, such as ed25519:…",
        )
    return keys


def _decoded(text: str, length: int) -> bytes | None:
    """So many bytes, from the one text that is theirs."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    one_text = base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")
    return raw if len(raw) == length and one_text == text else None


def _place(file: Path, content: bytes, *, replace: bool = False) -> None:
    """Put a file in its place whole, for its owner alone, if none is there or if it is to be replaced."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, apart = tempfile.mkstemp(dir=file.parent, prefix=".freegap-")  # with mode 600
        try:
            with os.fdopen(descriptor, "wb") as written:
                written.write(content)
                written.flush()
                os.fsync(descriptor)
            if replace:
                os.replace(apart, file)
            else:
                with suppress(FileExistsError):
                    os.link(apart, file)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(apart)
    except OSError as error:
        raise InvalidArgument(
            "key_file", str(file), f"cannot be made ({error.strerror})", "Name another file."
        ) from None
