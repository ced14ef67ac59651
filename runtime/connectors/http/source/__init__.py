"""HttpSource: the streams of a JSON API as records.

connector.py, config.py       the connector and its configuration
stream_config.py              the keys of a stream and of its parents; stream_checks.py: of keys against each other
manifest/                     a file with several streams, translated into their configurations
task.py, reader.py            the task: requests of each stream, one after another, with retries
stream.py, pages.py           a stream as configured: its requests, and the pages in their responses
walk.py, traversal.py         the way through pages, slices and parents, and the position on it
positions.py                  positions as offsets
records.py, inference.py      records of Kafka, and the schema of their values; parent_fields.py: fields of parents
"""
