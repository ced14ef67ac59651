"""Literals in the text of headers, as Java's org.apache.kafka.connect.data.Values parses and formats them."""
