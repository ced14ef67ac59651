"""Compacted topics as shared tables: the log under the config, status and offset stores."""
