"""The task host JVM: its jars, its process and the links to it."""
