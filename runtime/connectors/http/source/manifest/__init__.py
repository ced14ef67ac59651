"""Manifests of HttpSource: text.py reads one, fields.py has its fields, translation.py turns it into configurations."""
