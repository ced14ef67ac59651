"""Literals in text, as Connect's `Values` parses them: schemas inferred from text."""
