"""The format of calls, values and records between this process and a task host JVM."""
