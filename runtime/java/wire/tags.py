"""The encodings of a column: its first byte, as in Tags.java.

A column has one value for each record of a batch, and its number of values is known before it is read:

    NULLS     nothing: all values are null
    CONSTANT  a column of one value, which all records share
    NULLABLE  a byte for each value, 1 if it is not null; a column of the values that are not null
    MIXED     the number of kinds, the kind of each value (int32), a column for each kind
    STRING, BYTES   the length of each value (int32), then all values
    ARRAY     the length of each value, a column of all elements
    MAP       the size of each value, a column of all keys, a column of all values
    RECORD    maps with the same text keys: the number of keys; for each of them its text and a column
    STRUCT    the number of the schema; a column for each field
    DECIMAL   for each value its scale (int32), and the length and bytes of its unscaled value
    DATE      milliseconds since 1970 (int64)
    BIGINT    for each value its length and bytes

The headers of records, after their own tag:

    NO_HEADERS    nothing: no record has headers
    HEADERS       the number of headers of each record (int32); a column of all names; the schema of each value (int32);
                  a column of all values
    SAME_HEADERS  likewise, for one record: all have the same

Numbers are little-endian; other integers are big-endian two's complement.
"""

from __future__ import annotations

NULLS, CONSTANT, NULLABLE, BOOL = 0, 1, 2, 3
INT8, INT16, INT32, INT64, FLOAT32, FLOAT64 = 4, 5, 6, 7, 8, 9
STRING, BYTES, ARRAY, MAP, STRUCT, MIXED = 10, 11, 12, 13, 14, 15
DECIMAL, DATE, BIGINT, RECORD = 16, 17, 18, 19
NO_HEADERS, HEADERS, SAME_HEADERS = 0, 1, 2

ARRAYS = {INT8: "b", INT16: "h", INT32: "i", INT64: "q", FLOAT32: "f", FLOAT64: "d", DATE: "q"}
"""Type codes of the module `array`."""
