"""The sink task: records as rows, tables that are created and extended, and the statements that write them."""
