"""A worker under load whose processes are killed at random, and random records compared with Apache's classes."""
