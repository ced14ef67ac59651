"""The verbs that read or set what belongs to the whole cluster: lists, events, loggers, plugins, topics."""
