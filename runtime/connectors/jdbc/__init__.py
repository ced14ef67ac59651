"""JdbcSource and JdbcSink: tables of relational databases, through SQLAlchemy and the database's Python driver."""
