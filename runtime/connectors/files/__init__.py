"""Connectors for files on local disks and in object stores: Parquet, JSON lines, CSV and Avro."""
