package headrace;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.ConnectSchema;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;

/** The schemas that the other side of a link has defined, by number. */
final class SchemaReader {
    private static final Schema.Type[] TYPES = Schema.Type.values();

    private final List schemas = new ArrayList();

    SchemaReader() {
        schemas.add(null);
    }

    Schema schema(int id) {
        return (Schema) schemas.get(id);
    }

    /** Reads the definitions at the start of a frame. */
    void read(Input in, ColumnReader columns) {
        int count = in.i32();
        for (int i = 0; i < count; i++) {
            int id = in.i32();
            if (id != schemas.size()) {
                throw new IllegalStateException("Schema " + id + " was defined out of order");
            }
            schemas.add(definition(in, columns));
        }
    }

    private Schema definition(Input in, ColumnReader columns) {
        Schema.Type type = TYPES[in.u8()];
        boolean optional = in.u8() == 1;
        String name = in.string();
        int number = in.i32();
        Integer version = in.u8() == 1 ? Integer.valueOf(number) : null;
        String doc = in.string();
        Schema keys = schema(in.i32());
        Schema values = schema(in.i32());
        int count = in.i32();
        List fields = new ArrayList(count);
        for (int i = 0; i < count; i++) {
            String field = in.string();
            fields.add(new Field(field, i, schema(in.i32())));
        }
        Map given = (Map) columns.value();
        Map parameters = given.isEmpty() ? null : new LinkedHashMap(given);
        Object fallback = columns.value();
        boolean struct = type == Schema.Type.STRUCT;
        ConnectSchema plain = new ConnectSchema(type, optional, struct ? null : fallback, name, version, doc, parameters,
            struct ? fields : null, keys, values);
        if (!struct || fallback == null) {
            return plain;
        }
        return new ConnectSchema(type, optional, struct(plain, (Map) fallback), name, version, doc, parameters, fields,
            keys, values);
    }

    private static Struct struct(Schema schema, Map values) {
        Struct made = new Struct(schema);
        for (java.util.Iterator fields = schema.fields().iterator(); fields.hasNext();) {
            Field field = (Field) fields.next();
            Object value = values.get(field.name());
            boolean nested = field.schema().type() == Schema.Type.STRUCT && value instanceof Map;
            if (value != null) { // put() refuses null for a field with a default
                made.put(field, nested ? struct(field.schema(), (Map) value) : value);
            }
        }
        return made;
    }
}
