"""VerifiableSource and VerifiableSink: numbered records, and a line of JSON for each step of their way."""
