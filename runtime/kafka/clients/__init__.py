"""Settings of Kafka clients: Java's names translated for librdkafka and kafka-python."""
