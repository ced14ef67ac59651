"""JSON Schema: the conversion of Connect's schemas and values."""
