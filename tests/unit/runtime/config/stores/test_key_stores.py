"""Stores of Java's keytool, and the errors of those that cannot be read."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.x509 import load_pem_x509_certificates

from runtime.config.stores.key_stores import own_keys, trusted
from runtime.config.stores.pem import StoreError
from tests.support.servers.java_stores import ASCII, FOLDER, KEYS, ROOT, TRUST

INLINE = ("ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key")


def names(pem: str | None) -> list[str]:
    return [c.subject.rfc4514_string() for c in load_pem_x509_certificates((pem or "").encode())]


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_with_its_chain(kind: str) -> None:
    keys = own_keys(KEYS[kind])
    assert keys is not None
    assert names(keys.chain)[0] == "CN=client"
    assert {"CN=middle", "CN=root"} <= {*names(keys.chain)}
    assert keys.key.startswith("-----BEGIN PRIVATE KEY-----")
    assert keys.key not in repr(keys)


@pytest.mark.parametrize("kind", TRUST)
def test_trusted_certificates(kind: str) -> None:
    wanted = ["CN=client", "CN=root"] if kind == "keys" else ["CN=middle", "CN=root"]
    assert sorted(names(trusted(TRUST[kind]))) == wanted


def test_without_stores_there_is_nothing() -> None:
    assert (trusted({}), own_keys({})) == (None, None)


def test_a_store_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "trust"
    settings = {"ssl.truststore.location": str(file), "ssl.truststore.type": "PEM"}
    file.write_bytes(ROOT.read_bytes())
    assert len(names(trusted(settings))) == 1
    file.write_bytes(ROOT.read_bytes() * 2)
    assert len(names(trusted(settings))) == 2


def test_inline_pem_may_have_blanks_for_line_ends() -> None:
    assert names(trusted({INLINE[0]: " ".join(ROOT.read_text().split("\n"))})) == ["CN=root"]


def damaged(folder: Path, name: str, kept: slice) -> str:
    file = folder / name
    file.write_bytes((FOLDER / name).read_bytes()[kept])
    return str(file)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"ssl.truststore.password": "wrong"}, "trust.jks cannot be read with ssl.truststore.password: the password"),
        ({"ssl.truststore.location": "/none"}, "ssl.truststore.location=/none cannot be read: No such file"),
        ({"ssl.truststore.location": "/"}, "ssl.truststore.location=/ cannot be read: Is a directory"),
        ({"ssl.truststore.type": "BCFKS"}, "ssl.truststore.type=BCFKS is not supported: convert the store to one of"),
        ({"ssl.truststore.location": str(FOLDER / "make.sh")}, "is not a store of type JKS, nor of JCEKS, PKCS12, PEM"),
        (
            {"ssl.truststore.location": str(FOLDER / "secret.jceks"), "ssl.truststore.password": ASCII},
            "the entry secret is neither a certificate nor a private key: remove it",
        ),
        (
            {"ssl.truststore.location": str(FOLDER / "trust.p12"), "ssl.truststore.password": "wrong"},
            "trust.p12 cannot be read with ssl.truststore.password: ",
        ),
    ],
)
def test_trust_stores_that_cannot_be_used(changes: dict[str, str], message: str) -> None:
    with pytest.raises(StoreError, match=re.escape(message)):
        trusted({**TRUST["JKS"], **changes})


@pytest.mark.parametrize(
    "kind, changes, message",
    [
        ("JKS", {"ssl.key.password": "x"}, "the key own cannot be read with ssl.key.password: the password of the key"),
        ("JCEKS", {"ssl.key.password": "x"}, "the key own cannot be read with ssl.key.password: the password of the"),
        ("JKS", {"ssl.keystore.location": str(FOLDER / "trust.jks")}, "does not contain a private key"),
        ("PKCS12", {"ssl.keystore.location": str(FOLDER / "trust.p12")}, "does not contain a private key"),
        ("JKS", {"ssl.keystore.location": str(ROOT)}, "does not contain a private key"),
        ("JKS", {"ssl.keystore.certificate.chain": ROOT.read_text()}, "ssl.keystore.key does not contain a private"),
    ],
)
def test_key_stores_that_cannot_be_used(kind: str, changes: dict[str, str], message: str) -> None:
    with pytest.raises(StoreError, match=re.escape(message)):
        own_keys({**KEYS[kind], **changes})


@pytest.mark.parametrize("kept", [slice(0, 30), slice(0, 200), slice(0, 600), slice(0, -1)])
def test_a_damaged_store_without_password_is_an_error(tmp_path: Path, kept: slice) -> None:
    """Without a password there is no digest that would show the damage."""
    location = damaged(tmp_path, "trust.jks", kept)
    try:
        read = trusted({"ssl.truststore.location": location})
    except StoreError as e:
        assert "damaged" in str(e) or "a certificate cannot be read" in str(e)
    else:
        assert kept == slice(0, -1), read


@pytest.mark.soak
def test_the_stores_are_those_that_keytool_makes(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "made")
    subprocess.run(["sh", tmp_path / "made" / "make.sh"], check=True, capture_output=True)

    def moved(settings: dict[str, str]) -> dict[str, str]:
        return {k: v.replace(str(FOLDER), str(tmp_path / "made")) for k, v in settings.items()}

    for settings in KEYS.values():
        keys = own_keys(moved(settings))
        assert keys is not None
        assert names(keys.chain)[0] == "CN=client"
    for settings in TRUST.values():
        assert "CN=root" in names(trusted(moved(settings)))
