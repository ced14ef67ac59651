"""A worker under load whose processes are killed at random, and records by chance against Apache's classes."""
