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

    private final List schemas = new ArrayList(); // or the exceptions of those that Java refuses

    SchemaReader() {
        schemas.add(null);
    }

    /** The schema of a number. Throws the exception of one that Java has refused. */
    Schema schema(int id) {
        Object schema = schemas.get(id);
        if (schema instanceof RuntimeException) {
            throw (RuntimeException) schema;
        }
        return (Schema) schema;
    }

    /** Reads the definitions at the start of a frame. One that Java refuses does not change the numbers of others. */
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

    private Object definition(Input in, ColumnReader columns) {
        Schema.Type type = TYPES[in.u8()];
        boolean optional = in.u8() == 1;
        String name = in.string();
        int number = in.i32();
        Integer version = in.u8() == 1 ? Integer.valueOf(number) : null;
        String doc = in.string();
        int keys = in.i32();
        int values = in.i32();
        String[] names = new String[in.i32()];
        int[] types = new int[names.length];
        for (int i = 0; i < names.length; i++) {
            names[i] = in.string();
            types[i] = in.i32();
        }
        Map given = (Map) columns.value();
        Map parameters = given.isEmpty() ? null : new LinkedHashMap(given);
        Object fallback = columns.value();
        try {
            List fields = new ArrayList(names.length);
            for (int i = 0; i < names.length; i++) {
                fields.add(new Field(names[i], i, schema(types[i])));
            }
            boolean struct = type == Schema.Type.STRUCT;
            ConnectSchema plain = new ConnectSchema(type, optional, struct ? null : fallback, name, version, doc,
                parameters, struct ? fields : null, schema(keys), schema(values));
            if (!struct || fallback == null) {
                return plain;
            }
            return new ConnectSchema(type, optional, struct(plain, (Map) fallback), name, version, doc, parameters,
                fields, schema(keys), schema(values));
        } catch (RuntimeException refused) {
            return refused;
        }
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
