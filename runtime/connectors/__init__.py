"""The bundled connectors: FileStreamSource and FileStreamSink."""
