package headrace;

import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;

/** Gives the schemas of a link numbers, and writes each of them once, before the frame that uses it first. */
final class SchemaWriter {
    private static final int REMEMBERED = 2000;

    private final Map known = new HashMap();
    private final IdentityHashMap recent = new IdentityHashMap();
    private final Output definitions = new Output();
    private final ColumnWriter defaults = new ColumnWriter(definitions, this);
    private int count;
    private int pending;

    /** Starts a frame. */
    void begin() {
        definitions.begin();
        pending = 0;
    }

    /** The number of a schema; 0 for null. Equal schemas have the same number. */
    int id(Schema schema) {
        if (schema == null) {
            return 0;
        }
        Integer id = (Integer) recent.get(schema);
        if (id == null) {
            Schema plain = schema.schema();
            id = (Integer) known.get(plain);
            if (id == null) {
                id = define(plain);
            }
            if (recent.size() >= REMEMBERED) {
                recent.clear();
            }
            recent.put(schema, id);
        }
        return id.intValue();
    }

    /** Writes the definitions that the frame needs. */
    void flush(Output out) {
        out.i32(pending);
        if (pending > 0) {
            java.nio.ByteBuffer all = definitions.frame();
            all.position(4);
            out.bytes(all);
        }
    }

    private Integer define(Schema schema) {
        int keys = schema.type() == Schema.Type.MAP ? id(schema.keySchema()) : 0;
        boolean holds = schema.type() == Schema.Type.MAP || schema.type() == Schema.Type.ARRAY;
        int values = holds ? id(schema.valueSchema()) : 0;
        List fields = schema.type() == Schema.Type.STRUCT ? schema.fields() : java.util.Collections.EMPTY_LIST;
        int[] ids = new int[fields.size()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = id(((Field) fields.get(i)).schema());
        }
        Object fallback = schema.defaultValue();
        if (fallback instanceof org.apache.kafka.connect.data.Struct && schema.type() == Schema.Type.STRUCT) {
            fallback = asMap((org.apache.kafka.connect.data.Struct) fallback);
        }
        Output out = definitions;
        out.i32(++count);
        out.u8(schema.type().ordinal());
        out.u8(schema.isOptional() ? 1 : 0);
        out.string(schema.name());
        out.i32(schema.version() == null ? -1 : schema.version().intValue());
        out.u8(schema.version() == null ? 0 : 1);
        out.string(schema.doc());
        out.i32(keys);
        out.i32(values);
        out.i32(ids.length);
        for (int i = 0; i < ids.length; i++) {
            out.string(((Field) fields.get(i)).name());
            out.i32(ids[i]);
        }
        defaults.value(schema.parameters() == null ? java.util.Collections.EMPTY_MAP : schema.parameters());
        defaults.value(fallback);
        pending++;
        Integer id = Integer.valueOf(count);
        known.put(schema, id);
        return id;
    }

    private static Map asMap(org.apache.kafka.connect.data.Struct struct) {
        Map found = new java.util.LinkedHashMap();
        for (Iterator fields = struct.schema().fields().iterator(); fields.hasNext();) {
            Field field = (Field) fields.next();
            Object value = struct.getWithoutDefault(field.name());
            found.put(field.name(), value instanceof org.apache.kafka.connect.data.Struct
                ? asMap((org.apache.kafka.connect.data.Struct) value) : value);
        }
        return found;
    }
}
