package headrace;

/** The encodings of a column: its first byte. The Python side has the same table. */
final class Tags {
    static final int NULLS = 0;
    static final int CONSTANT = 1;
    static final int NULLABLE = 2;
    static final int BOOL = 3;
    static final int INT8 = 4;
    static final int INT16 = 5;
    static final int INT32 = 6;
    static final int INT64 = 7;
    static final int FLOAT32 = 8;
    static final int FLOAT64 = 9;
    static final int STRING = 10;
    static final int BYTES = 11;
    static final int ARRAY = 12;
    static final int MAP = 13;
    static final int STRUCT = 14;
    static final int MIXED = 15;
    static final int DECIMAL = 16;
    static final int DATE = 17;
    static final int BIGINT = 18;
    static final int RECORD = 19;

    static final int NO_HEADERS = 0;
    static final int HEADERS = 1;
    static final int SAME_HEADERS = 2;

    private Tags() {
    }
}
