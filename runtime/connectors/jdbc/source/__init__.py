"""The source task: queries, offsets and the conversion of rows to records."""
