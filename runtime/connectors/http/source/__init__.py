"""HttpSource: the streams of a JSON API as records.

connector.py, config.py       the connector and its configuration
stream_config.py              the keys of a stream and of its parents; stream_checks.py: of keys against each other
manifest/                     a file with several streams, translated into their configurations
task.py, reader.py            the task: its streams and their polls
requests.py                   the requests of a stream that are under way, with retries
stream.py, pages.py           a stream as configured: its requests, and the pages in their responses
walk.py, level.py             the way through parents and their children, and through the pages and slices of each
server_clock.py               the clocks of this machine and the endpoint, for time slices
traversal.py, positions.py    the position on that way, and positions as offsets
records.py, inference.py      records of Kafka, and the schema of their values; parent_fields.py: fields of parents
"""
