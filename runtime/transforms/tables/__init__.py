"""Records as Arrow tables, and tables as records, for transformations that compute with columns.

record_table.py       the columns of one batch
typed_values.py       values without a schema, with configured types
derived_records.py    a table that was computed, as records
errors.py             the error of a transformation that cannot work with any record
"""
