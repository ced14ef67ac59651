"""Java plugins: discovery, installation, the JVM that runs their code; and Java itself, with jars by coordinates."""
