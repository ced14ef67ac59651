"""The error that ends a revoked task; see also runtime.model.task_errors."""

from __future__ import annotations


class RevokedError(Exception):
    """The task was revoked or its lease has expired: it ends immediately, without commit or report."""
