import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.*;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.*;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * Runs cases through Apache Connect's own classes: one JSON document per line on standard input, one answer per line on
 * standard output. Janino compiles it, so it has no lambdas and casts elements of collections.
 */
public class Referee {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"), 1 << 16);
        PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false, "US-ASCII");
        System.setOut(System.err);
        out.println("{\"java\":" + Runtime.version().feature() + "}");
        String line = in.readLine();
        while (line != null) {
            out.println(answer(JSON.readTree(line)));
            line = in.readLine();
        }
        out.flush();
    }

    static String answer(JsonNode asked) {
        try {
            String found = run(asked);
            return "{\"ok\":" + (asked.has("outcome") ? "true" : found) + "}";
        } catch (Throwable error) {
            String message = error.getMessage();
            return "{\"error\":" + Text.quoted(error.getClass().getName())
                + ",\"message\":" + (message == null ? "null" : Text.quoted(message)) + "}";
        }
    }

    static String run(JsonNode asked) throws Exception {
        String op = asked.get("op").asText();
        if (op.equals("to_connect") || op.equals("from_connect")) {
            return convert(op, asked);
        } else if (op.equals("to_header") || op.equals("from_header")) {
            return convertHeader(op, asked);
        } else if (op.equals("transform")) {
            return transform(asked);
        } else if (op.equals("predicate")) {
            return predicate(asked);
        } else if (op.equals("project")) {
            Schema source = Read.schema(asked.get("source"));
            Object value = Read.value(source, asked.get("value"));
            Schema target = Read.schema(asked.get("target"));
            return Write.value(target, SchemaProjector.project(source, value, target));
        } else if (op.equals("validate")) {
            Schema schema = Read.schema(asked.get("schema"));
            Object value = Read.value(schema, asked.get("value"));
            ConnectSchema.validateValue(asked.get("name").asText(), schema, value);
            return "null";
        } else if (op.equals("build")) {
            return Write.schema(Build.schema(asked.get("calls")));
        } else if (op.equals("regex")) {
            return matches(asked.get("pattern").asText(), asked.get("text").asText());
        } else if (op.equals("jaas")) {
            return Jaas.read(asked.get("text").asText(), asked.get("file").asBoolean());
        }
        throw new IllegalStateException("unknown op " + op);
    }

    static String matches(String pattern, String text) {
        try {
            return String.valueOf(java.util.regex.Pattern.compile(pattern).matcher(text).matches());
        } catch (java.util.regex.PatternSyntaxException error) {
            throw new org.apache.kafka.common.config.ConfigException(error.getMessage());
        }
    }

    static Object plugin(JsonNode asked) throws Exception {
        return Class.forName(asked.get("class").asText()).getDeclaredConstructor(new Class[0]).newInstance(new Object[0]);
    }

    static Map config(JsonNode asked) {
        Map config = new LinkedHashMap();
        Iterator names = asked.get("config").fieldNames();
        while (names.hasNext()) {
            String name = (String) names.next();
            JsonNode value = asked.get("config").get(name);
            config.put(name, value.isNull() ? null : value.asText());
        }
        return config;
    }

    static String convert(String op, JsonNode asked) throws Exception {
        Converter converter = (Converter) plugin(asked);
        converter.configure(config(asked), asked.get("key").asBoolean());
        if (op.equals("to_connect")) {
            return Write.pair(converter.toConnectData("topic", Read.bytes(asked.get("data"))));
        }
        Schema schema = Read.schema(asked.get("schema"));
        return Write.bytes(converter.fromConnectData("topic", schema, Read.value(schema, asked.get("value"))));
    }

    static String convertHeader(String op, JsonNode asked) throws Exception {
        HeaderConverter converter = (HeaderConverter) plugin(asked);
        Map config = config(asked);
        config.put("converter.type", "header");
        converter.configure(config);
        if (op.equals("to_header")) {
            return Write.pair(converter.toConnectHeader("topic", "h", Read.bytes(asked.get("data"))));
        }
        Schema schema = Read.schema(asked.get("schema"));
        return Write.bytes(converter.fromConnectHeader("topic", "h", schema, Read.value(schema, asked.get("value"))));
    }

    static String transform(JsonNode asked) throws Exception {
        Transformation transformation = (Transformation) plugin(asked);
        transformation.configure(config(asked));
        return Write.record((ConnectRecord) transformation.apply(Read.record(asked.get("record"))));
    }

    static String predicate(JsonNode asked) throws Exception {
        Predicate predicate = (Predicate) plugin(asked);
        predicate.configure(config(asked));
        return String.valueOf(predicate.test(Read.record(asked.get("record"))));
    }
}

/** Login modules of `sasl.jaas.config`, or of the entry KafkaClient of a file; "refused" for malformed texts. */
class Jaas {
    static String read(String text, boolean file) throws Exception {
        try {
            return file ? modules(entry(text)) : modules(property(text));
        } catch (RuntimeException error) {
            return "\"refused\"";
        }
    }

    static List property(String text) {
        Map config = new HashMap();
        config.put("sasl.jaas.config", new org.apache.kafka.common.config.types.Password(text));
        return org.apache.kafka.common.security.JaasContext.loadClientContext(config).configurationEntries();
    }

    static List entry(String text) throws Exception {
        java.nio.file.Path file = java.nio.file.Files.createTempFile("referee", ".jaas",
            new java.nio.file.attribute.FileAttribute[0]);
        try {
            java.nio.file.Files.write(file, text.getBytes("UTF-8"), new java.nio.file.OpenOption[0]);
            Object[] entries = new com.sun.security.auth.login.ConfigFile(file.toUri())
                .getAppConfigurationEntry("KafkaClient");
            return entries == null ? null : Arrays.asList(entries);
        } finally {
            java.nio.file.Files.delete(file);
        }
    }

    static String modules(List entries) {
        if (entries == null) {
            return "null";
        }
        StringBuilder found = new StringBuilder("[");
        for (int i = 0; i < entries.size(); i++) {
            javax.security.auth.login.AppConfigurationEntry entry =
                (javax.security.auth.login.AppConfigurationEntry) entries.get(i);
            found.append(i == 0 ? "" : ",").append("[").append(Text.quoted(entry.getLoginModuleName()));
            Map options = new HashMap(entry.getOptions());
            options.remove(null);
            Iterator names = new TreeMap(options).keySet().iterator();
            while (names.hasNext()) {
                String name = (String) names.next();
                found.append(",[").append(Text.quoted(name)).append(",");
                found.append(Text.quoted((String) options.get(name))).append("]");
            }
            found.append("]");
        }
        return found.append("]").toString();
    }
}

/** Schemas, values and records as cases describe them. */
class Read {
    static byte[] bytes(JsonNode node) throws Exception {
        return node.isNull() ? null : node.binaryValue();
    }

    /** JsonNode.get(int) through a cast: Janino finds only the interface's method, which returns a TreeNode. */
    static JsonNode at(JsonNode node, int index) {
        return (JsonNode) node.get(index);
    }

    static String text(JsonNode node, String name) {
        JsonNode found = node.get(name);
        return found == null || found.isNull() ? null : found.asText();
    }

    static Schema schema(JsonNode node) throws Exception {
        if (node == null || node.isNull()) {
            return null;
        }
        Schema.Type type = Schema.Type.valueOf(node.get("type").asText());
        List fields = null;
        if (type == Schema.Type.STRUCT) {
            fields = new ArrayList();
            for (int i = 0; i < node.get("fields").size(); i++) {
                JsonNode field = Read.at(node.get("fields"), i);
                fields.add(new Field(Read.at(field, 0).asText(), i, schema(Read.at(field, 1))));
            }
        }
        Map parameters = null;
        JsonNode given = node.get("parameters");
        if (given != null) {
            parameters = new LinkedHashMap();
            for (int i = 0; i < given.size(); i++) {
                parameters.put(Read.at(Read.at(given, i), 0).asText(), Read.at(Read.at(given, i), 1).asText());
            }
        }
        boolean optional = node.has("optional");
        Integer version = node.has("version") ? Integer.valueOf(node.get("version").asInt()) : null;
        Schema keys = schema(node.get("keys"));
        Schema values = schema(node.get("values"));
        Object standard = null;
        if (node.has("default")) {
            Schema bare = new ConnectSchema(
                type, optional, null, text(node, "name"), version, text(node, "doc"), parameters, fields, keys, values);
            standard = value(bare, node.get("default"));
        }
        return new ConnectSchema(
            type, optional, standard, text(node, "name"), version, text(node, "doc"), parameters, fields, keys, values);
    }

    static Object value(Schema schema, JsonNode node) throws Exception {
        if (node == null || node.isNull()) {
            return null;
        } else if (node.isBoolean()) {
            return Boolean.valueOf(node.asBoolean());
        } else if (node.isTextual()) {
            return node.asText();
        } else if (node.has("i")) {
            return whole(schema, new BigInteger(node.get("i").asText()));
        } else if (node.has("f")) {
            double number = Double.longBitsToDouble(Long.parseUnsignedLong(node.get("f").asText(), 16));
            boolean single = schema != null && schema.type() == Schema.Type.FLOAT32;
            return single ? (Object) Float.valueOf((float) number) : (Object) Double.valueOf(number);
        } else if (node.has("b")) {
            return node.get("b").binaryValue();
        } else if (node.has("dec")) {
            return new BigDecimal(new BigInteger(Read.at(node.get("dec"), 0).asText()), Read.at(node.get("dec"), 1).asInt());
        } else if (node.has("date")) {
            return new java.util.Date(node.get("date").asLong());
        } else if (node.has("a")) {
            List items = new ArrayList();
            Schema of = schema != null && schema.type() == Schema.Type.ARRAY ? schema.valueSchema() : null;
            for (int i = 0; i < node.get("a").size(); i++) {
                items.add(value(of, Read.at(node.get("a"), i)));
            }
            return items;
        } else if (node.has("m")) {
            return map(schema, node.get("m"));
        }
        Struct struct = new Struct(schema);
        for (int i = 0; i < node.get("st").size(); i++) {
            JsonNode pair = Read.at(node.get("st"), i);
            Field field = schema.field(Read.at(pair, 0).asText());
            struct.put(field, value(field.schema(), Read.at(pair, 1)));
        }
        return struct;
    }

    static Object whole(Schema schema, BigInteger number) {
        Schema.Type type = schema == null ? Schema.Type.INT64 : schema.type();
        if (type == Schema.Type.INT8 && number.bitLength() < 8) {
            return Byte.valueOf(number.byteValue());
        } else if (type == Schema.Type.INT16 && number.bitLength() < 16) {
            return Short.valueOf(number.shortValue());
        } else if (type == Schema.Type.INT32 && number.bitLength() < 32) {
            return Integer.valueOf(number.intValue());
        }
        return number.bitLength() < 64 ? (Object) Long.valueOf(number.longValue()) : (Object) number;
    }

    static Map map(Schema schema, JsonNode entries) throws Exception {
        boolean typed = schema != null && schema.type() == Schema.Type.MAP;
        Map made = new HashMap();
        for (int i = 0; i < entries.size(); i++) {
            Object key = value(typed ? schema.keySchema() : null, Read.at(Read.at(entries, i), 0));
            made.put(key, value(typed ? schema.valueSchema() : null, Read.at(Read.at(entries, i), 1)));
        }
        return made;
    }

    static ConnectRecord record(JsonNode node) throws Exception {
        Schema keySchema = schema(Read.at(node.get("key"), 0));
        Object key = value(keySchema, Read.at(node.get("key"), 1));
        Schema valueSchema = schema(Read.at(node.get("value"), 0));
        Object value = value(valueSchema, Read.at(node.get("value"), 1));
        Long timestamp = node.get("timestamp").isNull() ? null : Long.valueOf(node.get("timestamp").asLong());
        Integer partition = node.get("partition").isNull() ? null : Integer.valueOf(node.get("partition").asInt());
        ConnectHeaders headers = new ConnectHeaders();
        for (int i = 0; i < node.get("headers").size(); i++) {
            JsonNode header = Read.at(node.get("headers"), i);
            Schema of = schema(Read.at(header, 1));
            headers.add(Read.at(header, 0).asText(), value(of, Read.at(header, 2)), of);
        }
        String topic = node.get("topic").asText();
        if (node.get("sink").asBoolean()) {
            return new SinkRecord(
                topic, partition.intValue(), keySchema, key, valueSchema, value, node.get("offset").asLong(),
                timestamp, TimestampType.CREATE_TIME, headers);
        }
        return new SourceRecord(
            new HashMap(), new HashMap(), topic, partition, keySchema, key, valueSchema, value, timestamp, headers);
    }
}

/** A chain of calls to SchemaBuilder, as `[name, argument]`. */
class Build {
    static Schema schema(JsonNode calls) throws Exception {
        SchemaBuilder builder = null;
        for (int i = 0; i < calls.size(); i++) {
            String name = Read.at(Read.at(calls, i), 0).asText();
            JsonNode given = Read.at(Read.at(calls, i), 1);
            if (name.equals("type")) {
                builder = SchemaBuilder.type(Schema.Type.valueOf(given.asText()));
            } else if (name.equals("array")) {
                builder = SchemaBuilder.array(Read.schema(given));
            } else if (name.equals("map")) {
                builder = SchemaBuilder.map(Read.schema(Read.at(given, 0)), Read.schema(Read.at(given, 1)));
            } else if (name.equals("optional")) {
                builder.optional();
            } else if (name.equals("required")) {
                builder.required();
            } else if (name.equals("default")) {
                builder.defaultValue(Read.value(builder, given));
            } else if (name.equals("name")) {
                builder.name(given.asText());
            } else if (name.equals("version")) {
                builder.version(Integer.valueOf(given.asInt()));
            } else if (name.equals("doc")) {
                builder.doc(given.asText());
            } else if (name.equals("parameter")) {
                builder.parameter(Read.at(given, 0).asText(), Read.at(given, 1).asText());
            } else {
                builder.field(Read.at(given, 0).isNull() ? null : Read.at(given, 0).asText(), Read.schema(Read.at(given, 1)));
            }
        }
        return builder.build();
    }
}

/** Results as JSON documents of the values, not as Java's texts. */
class Write {
    static String bytes(byte[] data) {
        return data == null ? "null" : "{\"b\":\"" + Base64.getEncoder().encodeToString(data) + "\"}";
    }

    static String pair(SchemaAndValue found) {
        return found == null ? "[null,null]" : pair(found.schema(), found.value());
    }

    static String pair(Schema schema, Object value) {
        return "[" + schema(schema) + "," + value(schema, value) + "]";
    }

    static String schema(Schema schema) {
        if (schema == null) {
            return "null";
        }
        StringBuilder out = new StringBuilder("{\"type\":\"" + schema.type() + "\"");
        if (schema.isOptional()) {
            out.append(",\"optional\":true");
        }
        attribute(out, "name", schema.name());
        if (schema.version() != null) {
            out.append(",\"version\":").append(schema.version());
        }
        attribute(out, "doc", schema.doc());
        if (schema.parameters() != null && !schema.parameters().isEmpty()) {
            out.append(",\"parameters\":").append(parameters(schema.parameters()));
        }
        if (schema.defaultValue() != null) {
            out.append(",\"default\":").append(value(schema, schema.defaultValue()));
        }
        if (schema.type() == Schema.Type.MAP) {
            out.append(",\"keys\":").append(schema(schema.keySchema()));
        }
        if (schema.type() == Schema.Type.MAP || schema.type() == Schema.Type.ARRAY) {
            out.append(",\"values\":").append(schema(schema.valueSchema()));
        }
        if (schema.type() == Schema.Type.STRUCT) {
            out.append(",\"fields\":").append(fields(schema));
        }
        return out.append("}").toString();
    }

    static void attribute(StringBuilder out, String name, String text) {
        if (text != null) {
            out.append(",\"" + name + "\":").append(Text.quoted(text));
        }
    }

    static String parameters(Map parameters) {
        StringBuilder out = new StringBuilder("[");
        for (Object each : parameters.entrySet()) {
            Map.Entry entry = (Map.Entry) each;
            out.append(out.length() > 1 ? ",[" : "[").append(Text.quoted((String) entry.getKey()));
            out.append(",").append(Text.quoted((String) entry.getValue())).append("]");
        }
        return out.append("]").toString();
    }

    static String fields(Schema schema) {
        StringBuilder out = new StringBuilder("[");
        for (Object each : schema.fields()) {
            Field field = (Field) each;
            out.append(out.length() > 1 ? ",[" : "[").append(Text.quoted(field.name()));
            out.append(",").append(schema(field.schema())).append("]");
        }
        return out.append("]").toString();
    }

    static String value(Schema schema, Object value) {
        if (value == null) {
            return "null";
        } else if (value instanceof Boolean) {
            return value.toString();
        } else if (value instanceof String) {
            return Text.quoted((String) value);
        } else if (value instanceof Double) {
            return "{\"f\":\"" + String.format("%016x", new Object[] {
                Long.valueOf(Double.doubleToRawLongBits(((Double) value).doubleValue()))}) + "\"}";
        } else if (value instanceof Float) {
            return "{\"f32\":\"" + String.format("%08x", new Object[] {
                Integer.valueOf(Float.floatToRawIntBits(((Float) value).floatValue()))}) + "\"}";
        } else if (value instanceof BigDecimal) {
            BigDecimal number = (BigDecimal) value;
            return "{\"dec\":[\"" + number.unscaledValue() + "\"," + number.scale() + "]}";
        } else if (value instanceof Number) {
            return "{\"i\":\"" + value + "\"}";
        } else if (value instanceof byte[]) {
            return bytes((byte[]) value);
        } else if (value instanceof java.nio.ByteBuffer) {
            return bytes(org.apache.kafka.common.utils.Utils.readBytes((java.nio.ByteBuffer) value));
        } else if (value instanceof java.util.Date) {
            return "{\"date\":" + ((java.util.Date) value).getTime() + "}";
        } else if (value instanceof List) {
            StringBuilder out = new StringBuilder("{\"a\":[");
            Iterator items = ((List) value).iterator();
            while (items.hasNext()) {
                out.append(value(schema == null ? null : schema.valueSchema(), items.next()));
                out.append(items.hasNext() ? "," : "");
            }
            return out.append("]}").toString();
        } else if (value instanceof Map) {
            StringBuilder out = new StringBuilder("{\"m\":[");
            Iterator entries = ((Map) value).entrySet().iterator();
            while (entries.hasNext()) {
                Map.Entry entry = (Map.Entry) entries.next();
                out.append("[").append(value(null, entry.getKey())).append(",").append(value(null, entry.getValue()));
                out.append(entries.hasNext() ? "]," : "]");
            }
            return out.append("]}").toString();
        } else if (value instanceof Struct) {
            return struct((Struct) value);
        }
        return "{\"other\":" + Text.quoted(value.getClass().getName()) + "}";
    }

    static String struct(Struct struct) {
        StringBuilder out = new StringBuilder("{\"st\":[");
        int start = out.length();
        for (Object each : struct.schema().fields()) {
            Field field = (Field) each;
            Object value = struct.getWithoutDefault(field.name());
            if (value != null) {
                out.append(out.length() > start ? ",[" : "[").append(Text.quoted(field.name()));
                out.append(",").append(value(field.schema(), value)).append("]");
            }
        }
        return out.append("]}").toString();
    }

    static String record(ConnectRecord record) {
        if (record == null) {
            return "null";
        }
        StringBuilder headers = new StringBuilder("[");
        for (Object each : record.headers()) {
            Header header = (Header) each;
            headers.append(headers.length() > 1 ? ",[" : "[").append(Text.quoted(header.key())).append(",");
            headers.append(schema(header.schema())).append(",").append(value(header.schema(), header.value()));
            headers.append("]");
        }
        return "{\"topic\":" + Text.quoted(record.topic()) + ",\"partition\":" + record.kafkaPartition()
            + ",\"timestamp\":" + record.timestamp() + ",\"key\":" + pair(record.keySchema(), record.key())
            + ",\"value\":" + pair(record.valueSchema(), record.value()) + ",\"headers\":" + headers + "]}";
    }
}

/** JSON strings in ASCII, halves of surrogate pairs included. */
class Text {
    static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c >= 32 && c < 127) {
                out.append(c);
            } else {
                out.append("\\u").append(Integer.toHexString(0x10000 | (int) c).substring(1));
            }
        }
        return out.append("\"").toString();
    }
}
