"""HTTP mechanics below the routes: connections, bodies, media types, methods, answers."""
