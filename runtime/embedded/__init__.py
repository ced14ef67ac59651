"""The embedded cluster: a Kafka broker and a Connect worker on this machine, started by a supervisor. The console
runs it as a separate process."""
