"""Stores that the keytool of Java 17 has made (make.sh): a root, and keys for 127.0.0.1 with chains of three."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER / "root.pem"

ASCII = 'store "pass\\word'
UNICODE = 'störe "pass\\word €'

KEYS = {
    "JKS": {
        "ssl.keystore.location": str(FOLDER / "keys.jks"),
        "ssl.keystore.password": UNICODE,
        "ssl.key.password": "kéy pässword",
    },
    "JCEKS": {
        "ssl.keystore.type": "JCEKS",
        "ssl.keystore.location": str(FOLDER / "keys.jceks"),
        "ssl.keystore.password": ASCII,
        "ssl.key.password": 'key "password',
    },
    "PKCS12": {"ssl.keystore.location": str(FOLDER / "keys.p12"), "ssl.keystore.password": ASCII},
}
TRUST = {
    "JKS": {"ssl.truststore.location": str(FOLDER / "trust.jks"), "ssl.truststore.password": UNICODE},
    "JKS without password": {"ssl.truststore.location": str(FOLDER / "trust.jks")},
    "JCEKS": {
        "ssl.truststore.type": "JCEKS",
        "ssl.truststore.location": str(FOLDER / "trust.jceks"),
        "ssl.truststore.password": UNICODE,
    },
    "PKCS12": {"ssl.truststore.location": str(FOLDER / "trust.p12"), "ssl.truststore.password": ASCII},
    "keys": {"ssl.truststore.location": str(FOLDER / "keys.jks"), "ssl.truststore.password": UNICODE},
}
