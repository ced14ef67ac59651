"""PostgreSQL's streaming replication protocol, and the messages of its plugin pgoutput."""
