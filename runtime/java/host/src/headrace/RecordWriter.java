package headrace;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.header.Headers;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;

/** Writes records as columns, in a group for each pair of key and value schema. */
final class RecordWriter {
    private final Output out;
    private final ColumnWriter columns;
    private final SchemaWriter schemas;

    RecordWriter(Output out, ColumnWriter columns, SchemaWriter schemas) {
        this.out = out;
        this.columns = columns;
        this.schemas = schemas;
    }

    /** Records without a null. */
    void write(List records) {
        int count = records.size();
        int[] groupOf = new int[count];
        List groups = group(records, groupOf);
        out.i32(groups.size());
        if (groups.size() > 1) {
            for (int i = 0; i < count; i++) {
                out.i32(groupOf[i]);
            }
        }
        for (int i = 0; i < groups.size(); i++) {
            group((List) groups.get(i));
        }
    }

    private List group(List records, int[] groupOf) {
        List groups = new ArrayList();
        Map numbers = new HashMap();
        Schema keySchema = null;
        Schema valueSchema = null;
        int current = -1;
        List members = null;
        int at = 0;
        for (Iterator all = records.iterator(); all.hasNext();) {
            ConnectRecord record = (ConnectRecord) all.next();
            if (current < 0 || record.keySchema() != keySchema || record.valueSchema() != valueSchema) {
                keySchema = record.keySchema();
                valueSchema = record.valueSchema();
                Long pair = Long.valueOf(((long) schemas.id(keySchema) << 32) + schemas.id(valueSchema));
                Integer known = (Integer) numbers.get(pair);
                if (known == null) {
                    known = Integer.valueOf(groups.size());
                    numbers.put(pair, known);
                    groups.add(new ArrayList(records.size()));
                }
                current = known.intValue();
                members = (List) groups.get(current);
            }
            groupOf[at++] = current;
            members.add(record);
        }
        return groups;
    }

    private void group(List records) {
        int count = records.size();
        Object[] column = new Object[count];
        ConnectRecord first = (ConnectRecord) records.get(0);
        out.i32(count);
        for (int i = 0; i < count; i++) {
            column[i] = ((ConnectRecord) records.get(i)).topic();
        }
        columns.repeated(column, count);
        for (int i = 0; i < count; i++) {
            column[i] = ((ConnectRecord) records.get(i)).kafkaPartition();
        }
        columns.write(column, count);
        for (int i = 0; i < count; i++) {
            column[i] = ((ConnectRecord) records.get(i)).timestamp();
        }
        columns.repeated(column, count);
        out.i32(schemas.id(first.keySchema()));
        out.i32(schemas.id(first.valueSchema()));
        for (int i = 0; i < count; i++) {
            column[i] = ((ConnectRecord) records.get(i)).key();
        }
        columns.write(column, count);
        for (int i = 0; i < count; i++) {
            column[i] = ((ConnectRecord) records.get(i)).value();
        }
        columns.write(column, count);
        headers(records);
        if (first instanceof SourceRecord) {
            origins(records, column);
        } else {
            positions(records, column);
        }
    }

    private void origins(List records, Object[] column) {
        int count = records.size();
        for (int i = 0; i < count; i++) {
            column[i] = ((SourceRecord) records.get(i)).sourcePartition();
        }
        columns.repeated(column, count);
        for (int i = 0; i < count; i++) {
            column[i] = ((SourceRecord) records.get(i)).sourceOffset();
        }
        columns.write(column, count);
    }

    private void positions(List records, Object[] column) {
        int count = records.size();
        for (int i = 0; i < count; i++) {
            column[i] = Long.valueOf(((SinkRecord) records.get(i)).kafkaOffset());
        }
        columns.write(column, count);
        for (int i = 0; i < count; i++) {
            column[i] = Long.valueOf(((SinkRecord) records.get(i)).timestampType().id);
        }
        columns.repeated(column, count);
    }

    private void headers(List records) {
        Headers first = ((ConnectRecord) records.get(0)).headers();
        boolean same = true;
        for (int i = 1; same && i < records.size(); i++) {
            same = first.equals(((ConnectRecord) records.get(i)).headers());
        }
        if (same && first.isEmpty()) {
            out.u8(Tags.NO_HEADERS);
            return;
        }
        out.u8(same ? Tags.SAME_HEADERS : Tags.HEADERS);
        headersOf(same ? records.subList(0, 1) : records);
    }

    private void headersOf(List records) {
        List names = new ArrayList();
        List values = new ArrayList();
        List ids = new ArrayList();
        for (int i = 0; i < records.size(); i++) {
            Headers headers = ((ConnectRecord) records.get(i)).headers();
            out.i32(headers.size());
            for (Iterator all = headers.iterator(); all.hasNext();) {
                Header header = (Header) all.next();
                names.add(header.key());
                values.add(header.value());
                ids.add(Integer.valueOf(schemas.id(header.schema())));
            }
        }
        columns.write(names.toArray(), names.size());
        for (int i = 0; i < ids.size(); i++) {
            out.i32(((Integer) ids.get(i)).intValue());
        }
        columns.write(values.toArray(), values.size());
    }
}
