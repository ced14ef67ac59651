"""What a database knows about its tables: names, columns and their types, read from its catalog."""
