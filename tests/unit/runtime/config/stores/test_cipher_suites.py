"""Names of cipher suites, compared with OpenSSL's."""

from __future__ import annotations

import ssl

import pytest

from runtime.config.stores.cipher_suites import openssl_suites

SUITES = {
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256": "DHE-RSA-AES256-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384": "ECDHE-RSA-AES256-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
}


@pytest.mark.parametrize("java", SUITES)
def test_names_of_java(java: str) -> None:
    assert openssl_suites(java) == SUITES[java]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers(f"{SUITES[java]}:@SECLEVEL=0")
    assert SUITES[java] in [cipher["name"] for cipher in context.get_ciphers()]


def test_lists() -> None:
    """Suites of TLS 1.3 are always enabled."""
    text = "TLS_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 ,DHE-RSA-AES256-SHA256"
    assert openssl_suites(text) == "ECDHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-SHA256"
    assert openssl_suites("TLS_AES_128_GCM_SHA256") == openssl_suites("") == ""
    assert openssl_suites("HIGH:!aNULL") == "HIGH:!aNULL"


@pytest.mark.parametrize("name", ["TLS_KRB5_WITH_DES_CBC_SHA", "TLS_ECDHE_RSA_WITH_NULL_SHA", "what is this"])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is not supported"):
        openssl_suites(f"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,{name}")
