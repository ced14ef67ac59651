"""Backups of a cluster's connectors: the document, and what restoring it takes."""
