package headrace;

/** The result of a call: a value, and optionally a batch of records that follows it. */
class Reply {
    static final Reply NOTHING = new Reply(null);

    final Object value;

    Reply(Object value) {
        this.value = value;
    }

    /** Writes the batch. */
    void batch(Output out, ColumnWriter columns, SchemaWriter schemas) {
    }
}
