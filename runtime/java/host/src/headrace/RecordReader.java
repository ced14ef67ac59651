package headrace;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.source.SourceRecord;

/** Reads records from columns. */
final class RecordReader {
    private final ColumnReader columns;

    RecordReader(ColumnReader columns) {
        this.columns = columns;
    }

    /** Source records, in their order. */
    List source() {
        int groups = columns.frame().i32();
        int count = columns.frame().i32();
        int[] groupOf = groups > 1 ? columns.frame().ints(count) : new int[count];
        Object[][] parts = new Object[groups][];
        for (int i = 0; i < groups; i++) {
            parts[i] = group(false, null);
        }
        return inOrder(parts, groupOf);
    }

    /** Sink records, in their order; each knows its batch and its place in it. */
    List sink(PutBatches.Batch batch) {
        int groups = columns.frame().i32();
        int count = columns.frame().i32();
        int[] groupOf = groups > 1 ? columns.frame().ints(count) : new int[count];
        Object[][] parts = new Object[groups][];
        for (int i = 0; i < groups; i++) {
            parts[i] = group(true, batch);
        }
        List found = inOrder(parts, groupOf);
        for (int i = 0; i < count; i++) {
            ((HostSinkRecord) found.get(i)).place = i;
        }
        return found;
    }

    private static List inOrder(Object[][] parts, int[] groupOf) {
        if (parts.length == 1) {
            return new ArrayList(Arrays.asList(parts[0]));
        }
        int[] next = new int[parts.length];
        List found = new ArrayList(groupOf.length);
        for (int i = 0; i < groupOf.length; i++) {
            found.add(parts[groupOf[i]][next[groupOf[i]]++]);
        }
        return found;
    }

    private Object[] group(boolean sink, PutBatches.Batch batch) {
        Input in = columns.frame();
        int count = in.i32();
        Object[] topics = columns.read(count);
        Object[] partitions = columns.read(count);
        Object[] times = columns.read(count);
        Schema keySchema = columns.schema(in.i32());
        Schema valueSchema = columns.schema(in.i32());
        Object[] keys = columns.read(count);
        Object[] values = columns.read(count);
        Object[] headers = headers(count);
        Object[] first = sink ? null : columns.read(count);
        Object[] second = sink ? null : columns.read(count);
        long[] offsets = sink ? columns.longs(count) : null;
        long[] kinds = sink ? columns.longs(count) : null;
        Object[][] origins = new Object[3][];
        if (sink && in.u8() == 1) {
            origins[0] = columns.read(count);
            origins[1] = columns.read(count);
            origins[2] = columns.read(count);
        }
        Object[] records = new Object[count];
        HostSinkRecord.Origin origin = new HostSinkRecord.Origin();
        for (int i = 0; i < count; i++) {
            String topic = (String) topics[i];
            Integer partition = number(partitions[i]);
            Long time = (Long) times[i];
            if (!sink) {
                records[i] = new SourceRecord((Map) first[i], (Map) second[i], topic, partition, keySchema, keys[i],
                    valueSchema, values[i], time, (ConnectHeaders) headers[i]);
                continue;
            }
            long offset = offsets[i];
            TimestampType type = type((int) kinds[i]);
            boolean moved = origins[0] != null;
            origin.topic = moved ? (String) origins[0][i] : topic;
            origin.partition = moved ? number(origins[1][i]).intValue() : partition.intValue();
            origin.offset = moved ? ((Long) origins[2][i]).longValue() : offset;
            records[i] = new HostSinkRecord(batch, origin, topic, partition.intValue(), keySchema, keys[i], valueSchema,
                values[i], offset, time, type, (ConnectHeaders) headers[i]);
        }
        return records;
    }

    private static Integer number(Object value) {
        return value == null ? null : Integer.valueOf(((Number) value).intValue());
    }

    private static TimestampType type(int id) {
        return id == 0 ? TimestampType.CREATE_TIME
            : id == 1 ? TimestampType.LOG_APPEND_TIME : TimestampType.NO_TIMESTAMP_TYPE;
    }

    private Object[] headers(int count) {
        Input in = columns.frame();
        Object[] found = new Object[count];
        int kind = in.u8();
        if (kind == Tags.NO_HEADERS) {
            return found;
        }
        int different = kind == Tags.SAME_HEADERS ? 1 : count;
        int[] sizes = in.ints(different);
        int total = 0;
        for (int i = 0; i < different; i++) {
            total += sizes[i];
        }
        Object[] names = columns.read(total);
        int[] ids = in.ints(total);
        Object[] values = columns.read(total);
        int at = 0;
        for (int i = 0; i < different; i++) {
            ConnectHeaders own = new ConnectHeaders();
            for (int n = 0; n < sizes[i]; n++) {
                own.add((String) names[at], values[at], columns.schema(ids[at]));
                at++;
            }
            found[i] = own;
        }
        for (int i = different; i < count; i++) {
            found[i] = ((ConnectHeaders) found[0]).duplicate();
        }
        return found;
    }
}
