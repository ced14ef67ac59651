"""Connector configs: parsing edited text, computing changes and sending only these. Free of Textual."""
