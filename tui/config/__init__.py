"""Connector configs: what a text says, what would change, and how only that is sent. Free of Textual."""
