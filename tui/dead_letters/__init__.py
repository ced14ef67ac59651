"""Dead letters, the failed records of sinks (KIP-298): reading them from the brokers and sending them again."""
