"""A real Kafka broker on the loopback interface, and the jars it needs."""
