"""What plugin authors import: records, tasks, connectors, converters, configuration definitions, errors."""
