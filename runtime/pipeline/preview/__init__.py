"""What a chain would make of sample records: nothing is written, put or committed."""
