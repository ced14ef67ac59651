"""Tasks that tests run directly, with schemas and records for them."""
