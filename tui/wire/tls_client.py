"""The TLS context of a client, with the same checks on every version of Python."""

from __future__ import annotations

import ssl


def verifying_context(cafile: str | None) -> ssl.SSLContext:
    """Verifies servers by the certificates of a file, or by those of the system. Raises OSError (ssl.SSLError too).

    Since 3.13 Python refuses CAs without the extension for key usage by default. Many companies have such a CA, and
    curl and the clients of Java accept it."""
    context = ssl.create_default_context(cafile=cafile)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
