"""DatagenSource: generated records, of a template or of fields with generators."""
