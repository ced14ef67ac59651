"""Drafts of offsets as JSON text: parsing with positions, checks and changes. Free of Textual."""
