"""Changes of a PostgreSQL database, read from its logical replication."""
