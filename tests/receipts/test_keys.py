from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from freegap import InvalidArgument
from freegap.receipts.keys import SigningKey, earlier_keys, place_of_key, public_key, public_keys

ORDER = 2**252 + 27742317777372353535851937790883648493
"""Of the group of Ed25519: s and s + ORDER would mean the same signature."""


def test_a_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "key.pem"
    key = SigningKey.made(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert SigningKey.made(file).public.text == key.public.text
    assert [path.name for path in file.parent.iterdir()] == ["key.pem"], "nothing is left beside it"
    assert SigningKey.made(tmp_path / "other.pem").public.text != key.public.text


def test_of_many_who_make_it_at_once_one_does(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: SigningKey.made(tmp_path / "key.pem").public.text, range(16)))
    assert len(set(made)) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610])
def test_a_key_that_others_can_read_is_not_used(tmp_path: Path, mode: int) -> None:
    SigningKey.made(tmp_path / "key.pem")
    (tmp_path / "key.pem").chmod(mode)
    with pytest.raises(InvalidArgument, match="others than its owner"):
        SigningKey.made(tmp_path / "key.pem")


def test_what_is_no_key_is_not_used_and_not_replaced(tmp_path: Path) -> None:
    other = generate_private_key(SECP256R1())
    pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for content in (b"", b"not a key", pem):
        file = tmp_path / "key.pem"
        file.write_bytes(content)
        file.chmod(0o600)
        with pytest.raises(InvalidArgument, match="no Ed25519 key"):
            SigningKey.made(file)
        assert file.read_bytes() == content
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InvalidArgument, match="cannot be read"):
        SigningKey.made(tmp_path / "link")
    with pytest.raises(InvalidArgument, match="cannot be made"):
        SigningKey.made(tmp_path / "key.pem" / "below")
    with pytest.raises(InvalidArgument):
        SigningKey.made(tmp_path)


def test_where_the_key_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("FREEGAP_RECEIPT_KEY", raising=False)
    assert place_of_key(None).name == "receipt-key.pem"
    monkeypatch.setenv("FREEGAP_RECEIPT_KEY", "/a/b")
    assert place_of_key(None) == Path("/a/b")
    assert place_of_key("/c") == Path("/c")


def test_a_public_key_is_one_line_of_text_or_in_a_file(tmp_path: Path) -> None:
    text = SigningKey.made(tmp_path / "key.pem").public.text
    (tmp_path / "pub").write_text(text + "\n")
    assert public_key(text).text == public_key(str(tmp_path / "pub")).text == text
    for wrong in (
        text[:-1],
        text + "A",
        text + "=",
        "",
        "ed25519:",
        f" {text}",
        "nowhere",
        os.devnull,
        "a\0b",
    ):
        with pytest.raises(InvalidArgument, match="is no public key"):
            public_key(wrong)
    with pytest.raises(InvalidArgument, match="is no public key"):
        public_key(str(tmp_path / "key.pem"))


def test_a_signature_is_of_these_bytes_under_this_heading_and_has_one_text(tmp_path: Path) -> None:
    key = SigningKey.made(tmp_path / "key.pem")
    signature = key.sign(b"data")
    assert key.public.signed(b"data", signature)
    assert not key.public.signed(b"datA", signature)
    assert not key.public.signed(b"freegap receipt\ndata", signature)
    assert not SigningKey.made(tmp_path / "other.pem").public.signed(b"data", signature)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    same_bytes = signature[:-1] + alphabet[alphabet.index(signature[-1]) ^ 1]  # bits that base64 leaves over
    for other in (same_bytes, signature + "==", signature + "\n", signature.replace("-", "+"), "", "é" * 86):
        if other != signature:
            assert not key.public.signed(b"data", other), other


def test_a_second_signature_cannot_be_made_from_the_first(tmp_path: Path) -> None:
    import base64

    key = SigningKey.made(tmp_path / "key.pem")
    raw = base64.urlsafe_b64decode(key.sign(b"data") + "==")
    s = int.from_bytes(raw[32:], "little") + ORDER
    forged = base64.urlsafe_b64encode(raw[:32] + s.to_bytes(32, "little")).decode().rstrip("=")
    assert not key.public.signed(b"data", forged)


def test_a_key_is_replaced_and_what_it_has_signed_stays_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key.pem"
    with pytest.raises(InvalidArgument, match="cannot be read"):
        SigningKey.replaced(file)
    keys = [SigningKey.made(file), SigningKey.replaced(file), SigningKey.replaced(file)]
    texts = [key.public.text for key in keys]
    assert len(set(texts)) == 3
    assert SigningKey.read(file).public.text == texts[2]
    assert [key.text for key in earlier_keys(file)] == texts[:2]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key.pem", "key.pem.earlier"]
    signature = keys[0].sign(b"a receipt")
    assert [key.signed(b"a receipt", signature) for key in earlier_keys(file)] == [True, False]

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as without:
        without.setattr("freegap.receipts.keys._new_pem", crash)
        with pytest.raises(KeyboardInterrupt):
            SigningKey.replaced(file)
    assert SigningKey.read(file).public.text == texts[2], "ended in the middle, the old one is still there"
    SigningKey.replaced(file)
    assert [key.text for key in earlier_keys(file)] == texts, "and is noted once"


def test_a_list_of_keys_is_one_a_line(tmp_path: Path) -> None:
    texts = [SigningKey.made(tmp_path / f"{name}.pem").public.text for name in "ab"]
    (tmp_path / "list").write_text("\n".join(texts) + "\n")
    assert [key.text for key in public_keys(str(tmp_path / "list"))] == texts
    assert public_key(str(tmp_path / "list")).text == texts[1]
    for wrong in ("\n\n".join(texts), f"{texts[0]}\nnot a key", f"{texts[0]} {texts[1]}"):
        (tmp_path / "list").write_text(wrong)
        with pytest.raises(InvalidArgument, match="no public key"):
            public_keys(str(tmp_path / "list"))
