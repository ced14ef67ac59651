"""JsonConverter, with or without schemas in the messages."""
