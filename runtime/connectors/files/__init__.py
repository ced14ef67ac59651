"""Connectors for files on local disks and in object stores: Parquet, JSON lines, CSV and Avro."""

PRELOADED = False  # slots without these connectors do without pyarrow
