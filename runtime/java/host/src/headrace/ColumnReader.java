package headrace;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Date;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;

/** Reads columns of values. */
final class ColumnReader {
    private final SchemaReader schemas;
    private Input in;

    ColumnReader(SchemaReader schemas) {
        this.schemas = schemas;
    }

    void begin(Input frame) {
        in = frame;
    }

    Input frame() {
        return in;
    }

    Schema schema(int id) {
        return schemas.schema(id);
    }

    /** A single value. */
    Object value() {
        return read(1)[0];
    }

    /** A column of `count` values. */
    Object[] read(int count) {
        Object[] values = new Object[count];
        int tag = in.u8();
        switch (tag) {
            case Tags.NULLS:
                break;
            case Tags.CONSTANT:
                java.util.Arrays.fill(values, count == 0 ? null : read(1)[0]);
                break;
            case Tags.NULLABLE:
                nullable(values);
                break;
            case Tags.MIXED:
                mixed(values);
                break;
            case Tags.STRING:
                strings(values);
                break;
            case Tags.BYTES:
                int[] sizes = in.ints(count);
                for (int i = 0; i < count; i++) {
                    values[i] = in.bytes(sizes[i]);
                }
                break;
            case Tags.ARRAY:
                arrays(values);
                break;
            case Tags.MAP:
                maps(values);
                break;
            case Tags.RECORD:
                records(values);
                break;
            case Tags.STRUCT:
                structs(values);
                break;
            default:
                numbers(tag, values);
        }
        return values;
    }

    /** A column of integers of 64 bits without nulls. */
    long[] longs(int count) {
        long[] found = new long[count];
        int start = in.buffer.position();
        if (in.u8() == Tags.INT64) {
            in.buffer.asLongBuffer().get(found);
            in.buffer.position(in.buffer.position() + 8 * count);
            return found;
        }
        in.buffer.position(start);
        Object[] values = read(count);
        for (int i = 0; i < count; i++) {
            found[i] = ((Number) values[i]).longValue();
        }
        return found;
    }

    private void nullable(Object[] values) {
        byte[] present = in.bytes(values.length);
        int count = 0;
        for (int i = 0; i < present.length; i++) {
            count += present[i];
        }
        Object[] found = read(count);
        int at = 0;
        for (int i = 0; i < present.length; i++) {
            values[i] = present[i] == 1 ? found[at++] : null;
        }
    }

    private void mixed(Object[] values) {
        int kinds = in.i32();
        int[] kindOf = in.ints(values.length);
        int[] counts = new int[kinds];
        for (int i = 0; i < kindOf.length; i++) {
            counts[kindOf[i]]++;
        }
        for (int kind = 0; kind < kinds; kind++) {
            Object[] found = read(counts[kind]);
            int at = 0;
            for (int i = 0; i < kindOf.length; i++) {
                if (kindOf[i] == kind) {
                    values[i] = found[at++];
                }
            }
        }
    }

    private void strings(Object[] values) {
        int[] lengths = in.ints(values.length);
        for (int i = 0; i < values.length; i++) {
            values[i] = in.string(lengths[i]);
        }
    }

    private void arrays(Object[] values) {
        int[] lengths = in.ints(values.length);
        Object[] items = read(sum(lengths));
        int at = 0;
        for (int i = 0; i < values.length; i++) {
            List one = new ArrayList(lengths[i]);
            for (int n = 0; n < lengths[i]; n++) {
                one.add(items[at++]);
            }
            values[i] = one;
        }
    }

    private void maps(Object[] values) {
        int[] lengths = in.ints(values.length);
        int total = sum(lengths);
        Object[] keys = read(total);
        Object[] items = read(total);
        int at = 0;
        for (int i = 0; i < values.length; i++) {
            Map one = new LinkedHashMap();
            for (int n = 0; n < lengths[i]; n++) {
                one.put(keys[at], items[at]);
                at++;
            }
            values[i] = one;
        }
    }

    private static int sum(int[] lengths) {
        int total = 0;
        for (int i = 0; i < lengths.length; i++) {
            total += lengths[i];
        }
        return total;
    }

    private void records(Object[] values) {
        int fields = in.i32();
        for (int i = 0; i < values.length; i++) {
            values[i] = new LinkedHashMap();
        }
        for (int n = 0; n < fields; n++) {
            String name = in.string();
            Object[] column = read(values.length);
            for (int i = 0; i < values.length; i++) {
                ((Map) values[i]).put(name, column[i]);
            }
        }
    }

    private void structs(Object[] values) {
        Schema schema = schemas.schema(in.i32());
        for (int i = 0; i < values.length; i++) {
            values[i] = new Struct(schema);
        }
        for (Iterator fields = schema.fields().iterator(); fields.hasNext();) {
            Field field = (Field) fields.next();
            Object[] column = read(values.length);
            for (int i = 0; i < values.length; i++) {
                if (column[i] != null) {
                    ((Struct) values[i]).put(field, column[i]);
                }
            }
        }
    }

    private void numbers(int tag, Object[] values) {
        for (int i = 0; i < values.length; i++) {
            switch (tag) {
                case Tags.BOOL:
                    values[i] = in.u8() == 1 ? Boolean.TRUE : Boolean.FALSE;
                    break;
                case Tags.INT8:
                    values[i] = Byte.valueOf(in.buffer.get());
                    break;
                case Tags.INT16:
                    values[i] = Short.valueOf(in.buffer.getShort());
                    break;
                case Tags.INT32:
                    values[i] = Integer.valueOf(in.i32());
                    break;
                case Tags.INT64:
                    values[i] = Long.valueOf(in.i64());
                    break;
                case Tags.FLOAT32:
                    values[i] = Float.valueOf(in.buffer.getFloat());
                    break;
                case Tags.FLOAT64:
                    values[i] = Double.valueOf(in.buffer.getDouble());
                    break;
                case Tags.DATE:
                    values[i] = new Date(in.i64());
                    break;
                case Tags.DECIMAL:
                    int scale = in.i32();
                    values[i] = new BigDecimal(new BigInteger(in.bytes(in.i32())), scale);
                    break;
                case Tags.BIGINT:
                    values[i] = new BigInteger(in.bytes(in.i32()));
                    break;
                default:
                    throw new IllegalStateException("Unknown column " + tag);
            }
        }
    }
}
