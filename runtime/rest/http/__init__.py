"""HTTP below the routes: connections, framing, request bodies, media types, answers. Independent of connectors."""
