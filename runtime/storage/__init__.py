"""The config, offset and status topics of Connect."""
