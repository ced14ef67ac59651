"""The TLS context of a client, with the same checks on every version of Python."""

from __future__ import annotations

import ssl


def verifying_context(cafile: str | None = None, cadata: str | bytes | None = None) -> ssl.SSLContext:
    """Verifies servers by these certificates, or by those of the system. Raises OSError (ssl.SSLError too) and
    ValueError for what cannot be read.

    Since 3.13 Python refuses CAs without the extension for key usage by default. Many companies have such a CA, and the
    clients of Java and Kafka accept it."""
    context = ssl.create_default_context(cafile=cafile, cadata=cadata)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
