"""DataSource and DataSourceSink: streaming readers and writers of PySpark's Python Data Source API without a query.

    loading.py                   the data source class with its options and schema
    ddl.py, connect_schema.py    Spark's types: from text, and to and from Connect's
    readers.py                   source: the micro-batches of a reader
    reading.py                   source: who plans them, and which task reads which partitions
    micro_batches.py, shared_batches.py   source: offsets
    chunk_thread.py              source: reads ahead on a thread of its own

PySpark is imported when a task or a validation needs it.
"""
