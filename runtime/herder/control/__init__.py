"""Control loops: from the configuration of a connector to its running instance and tasks."""
