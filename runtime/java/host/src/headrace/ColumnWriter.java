package headrace;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Date;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;

/** Writes values as columns. The classes of the values decide on the encoding, so that no schema is needed. */
final class ColumnWriter {
    private final Output out;
    private final SchemaWriter schemas;

    ColumnWriter(Output out, SchemaWriter schemas) {
        this.out = out;
        this.schemas = schemas;
    }

    /** A single value. */
    void value(Object value) {
        write(new Object[] {value}, 1);
    }

    /** As write(), with a single value if all are equal. */
    void repeated(Object[] values, int count) {
        for (int i = 1; i < count; i++) {
            if (values[i] != values[0] && (values[0] == null || !values[0].equals(values[i]))) {
                write(values, count);
                return;
            }
        }
        if (count > 0) {
            out.u8(Tags.CONSTANT);
            value(values[0]);
        } else {
            out.u8(Tags.NULLS);
        }
    }

    /** The first `count` values of an array. */
    void write(Object[] values, int count) {
        int nulls = 0;
        int tag = -1;
        Object first = null;
        boolean mixed = false;
        for (int i = 0; i < count; i++) {
            Object value = values[i];
            if (value == null) {
                nulls++;
            } else if (first == null) {
                first = value;
                tag = tagOf(value);
            } else if (value.getClass() != first.getClass() ? tagOf(value) != tag
                    : tag == Tags.STRUCT && ((Struct) value).schema() != ((Struct) first).schema()) {
                mixed = true;
            }
        }
        if (first == null) {
            out.u8(Tags.NULLS);
            return;
        }
        if (nulls > 0) {
            out.u8(Tags.NULLABLE);
            Object[] present = new Object[count - nulls];
            int at = 0;
            for (int i = 0; i < count; i++) {
                out.u8(values[i] == null ? 0 : 1);
                if (values[i] != null) {
                    present[at++] = values[i];
                }
            }
            write(present, at);
        } else if (mixed) {
            mixed(values, count);
        } else {
            uniform(tag, values, count);
        }
    }

    private static int tagOf(Object value) {
        if (value instanceof String) {
            return Tags.STRING;
        } else if (value instanceof Struct) {
            return Tags.STRUCT;
        } else if (value instanceof Long) {
            return Tags.INT64;
        } else if (value instanceof Integer) {
            return Tags.INT32;
        } else if (value instanceof Map) {
            return Tags.MAP;
        } else if (value instanceof byte[] || value instanceof ByteBuffer) {
            return Tags.BYTES;
        } else if (value instanceof Collection) {
            return Tags.ARRAY;
        } else if (value instanceof Boolean) {
            return Tags.BOOL;
        } else if (value instanceof Double) {
            return Tags.FLOAT64;
        } else if (value instanceof Float) {
            return Tags.FLOAT32;
        } else if (value instanceof Short) {
            return Tags.INT16;
        } else if (value instanceof Byte) {
            return Tags.INT8;
        } else if (value instanceof BigDecimal) {
            return Tags.DECIMAL;
        } else if (value instanceof Date) {
            return Tags.DATE;
        } else if (value instanceof BigInteger) {
            return Tags.BIGINT;
        }
        throw new org.apache.kafka.connect.errors.DataException(
            "A value of class " + value.getClass().getName() + " is not a Connect value");
    }

    /** Values of different kinds: the kind of each, then a column for each kind. */
    private void mixed(Object[] values, int count) {
        Map kinds = new LinkedHashMap();
        int[] kindOf = new int[count];
        for (int i = 0; i < count; i++) {
            int tag = tagOf(values[i]);
            Object kind = tag == Tags.STRUCT ? (Object) Integer.valueOf(1000 + schemas.id(((Struct) values[i]).schema()))
                : (Object) Integer.valueOf(tag);
            List members = (List) kinds.get(kind);
            if (members == null) {
                members = new ArrayList();
                members.add(Integer.valueOf(kinds.size()));
                kinds.put(kind, members);
            }
            kindOf[i] = ((Integer) members.get(0)).intValue();
            members.add(values[i]);
        }
        out.u8(Tags.MIXED);
        out.i32(kinds.size());
        for (int i = 0; i < count; i++) {
            out.i32(kindOf[i]);
        }
        for (Iterator all = kinds.values().iterator(); all.hasNext();) {
            List members = (List) all.next();
            Object[] part = members.subList(1, members.size()).toArray();
            uniform(tagOf(part[0]), part, part.length);
        }
    }

    private void uniform(int tag, Object[] values, int count) {
        if (tag == Tags.MAP) {
            maps(values, count);
            return;
        }
        out.u8(tag);
        switch (tag) {
            case Tags.STRING:
                strings(values, count);
                break;
            case Tags.BYTES:
                binaries(values, count);
                break;
            case Tags.STRUCT:
                structs(values, count);
                break;
            case Tags.ARRAY:
                arrays(values, count);
                break;
            case Tags.DECIMAL:
                decimals(values, count);
                break;
            default:
                for (int i = 0; i < count; i++) {
                    number(tag, values[i]);
                }
        }
    }

    private void number(int tag, Object value) {
        switch (tag) {
            case Tags.INT64:
                out.i64(((Long) value).longValue());
                break;
            case Tags.INT32:
                out.i32(((Integer) value).intValue());
                break;
            case Tags.INT16:
                out.i16(((Short) value).shortValue());
                break;
            case Tags.INT8:
                out.u8(((Byte) value).byteValue());
                break;
            case Tags.BOOL:
                out.u8(((Boolean) value).booleanValue() ? 1 : 0);
                break;
            case Tags.FLOAT64:
                out.f64(((Double) value).doubleValue());
                break;
            case Tags.FLOAT32:
                out.f32(((Float) value).floatValue());
                break;
            case Tags.DATE:
                out.i64(((Date) value).getTime());
                break;
            default:
                byte[] digits = ((BigInteger) value).toByteArray();
                out.i32(digits.length);
                out.bytes(digits);
        }
    }

    private void strings(Object[] values, int count) {
        int lengths = out.position();
        out.skip(4 * count);
        for (int i = 0; i < count; i++) {
            byte[] data = ((String) values[i]).getBytes(StandardCharsets.UTF_8);
            out.setInt(lengths + 4 * i, data.length);
            out.bytes(data);
        }
    }

    private void binaries(Object[] values, int count) {
        int lengths = out.position();
        out.skip(4 * count);
        for (int i = 0; i < count; i++) {
            int start = out.position();
            if (values[i] instanceof byte[]) {
                out.bytes((byte[]) values[i]);
            } else {
                out.bytes((ByteBuffer) values[i]);
            }
            out.setInt(lengths + 4 * i, out.position() - start);
        }
    }

    private void structs(Object[] values, int count) {
        Schema schema = ((Struct) values[0]).schema();
        out.i32(schemas.id(schema));
        Object[] column = new Object[count];
        for (Iterator fields = schema.fields().iterator(); fields.hasNext();) {
            Field field = (Field) fields.next();
            for (int i = 0; i < count; i++) {
                column[i] = ((Struct) values[i]).getWithoutDefault(field.name());
            }
            if (field.schema().type().isPrimitive()) {
                repeated(column, count);
            } else {
                write(column, count);
            }
        }
    }

    private void arrays(Object[] values, int count) {
        List items = new ArrayList();
        for (int i = 0; i < count; i++) {
            Collection one = (Collection) values[i];
            out.i32(one.size());
            items.addAll(one);
        }
        write(items.toArray(), items.size());
    }

    /** Maps: those with the same text keys as one column for each key. */
    private void maps(Object[] values, int count) {
        Object[] names = ((Map) values[0]).keySet().toArray();
        if (names.length > 0 && alike(names, values, count)) {
            out.u8(Tags.RECORD);
            out.i32(names.length);
            Object[] column = new Object[count];
            for (int n = 0; n < names.length; n++) {
                out.string((String) names[n]);
                for (int i = 0; i < count; i++) {
                    column[i] = ((Map) values[i]).get(names[n]);
                }
                write(column, count);
            }
            return;
        }
        out.u8(Tags.MAP);
        List keys = new ArrayList();
        List items = new ArrayList();
        for (int i = 0; i < count; i++) {
            Map one = (Map) values[i];
            out.i32(one.size());
            for (Iterator entries = one.entrySet().iterator(); entries.hasNext();) {
                Map.Entry entry = (Map.Entry) entries.next();
                keys.add(entry.getKey());
                items.add(entry.getValue());
            }
        }
        write(keys.toArray(), keys.size());
        write(items.toArray(), items.size());
    }

    private static boolean alike(Object[] names, Object[] values, int count) {
        for (int n = 0; n < names.length; n++) {
            if (!(names[n] instanceof String)) {
                return false;
            }
        }
        for (int i = 1; i < count; i++) {
            Map one = (Map) values[i];
            if (one.size() != names.length) {
                return false;
            }
            int n = 0;
            for (Iterator keys = one.keySet().iterator(); keys.hasNext();) {
                if (!names[n++].equals(keys.next())) {
                    return false;
                }
            }
        }
        return true;
    }

    private void decimals(Object[] values, int count) {
        for (int i = 0; i < count; i++) {
            BigDecimal value = (BigDecimal) values[i];
            byte[] digits = value.unscaledValue().toByteArray();
            out.i32(value.scale());
            out.i32(digits.length);
            out.bytes(digits);
        }
    }
}
