"""Apicurio's converters: its registry, its options and its wire formats."""
