"""Servers that tests connect to: databases, object stores, HTTP and proxies."""
