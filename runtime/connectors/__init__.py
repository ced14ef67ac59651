"""The bundled connectors: a folder for each system; FileStreamSource, FileStreamSink and shared parts are here."""
