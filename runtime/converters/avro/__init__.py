"""AvroConverter, with Confluent's wire format and schema registry."""
