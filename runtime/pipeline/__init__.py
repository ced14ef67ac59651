"""Processing of records inside a slot."""
