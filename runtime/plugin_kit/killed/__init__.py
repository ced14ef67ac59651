"""Tasks in a child process that is killed: the child, its Kafka broker, and the checks of what arrived."""
