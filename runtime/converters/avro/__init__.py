"""AvroConverter in the wire format of Confluent's schema registry."""
