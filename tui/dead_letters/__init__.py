"""Records that a sink could not digest (KIP-298): reading them from the brokers, telling why, sending them again."""
