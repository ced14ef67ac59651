"""Topics and their records, read from the brokers without joining a consumer group: lists, pages, decoding."""
