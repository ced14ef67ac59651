"""JsonConverter, with or without schemas beside the payload."""
