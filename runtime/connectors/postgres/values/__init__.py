"""Texts of PostgreSQL as values of Connect, with the schemas that Debezium gives them."""
