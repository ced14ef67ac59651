"""JdbcSource and JdbcSink: tables of relational databases, through SQLAlchemy and the database's Python driver."""

PRELOADED = False  # slots without these connectors do without SQLAlchemy
