package headrace;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;

/** A converter or a header converter. */
final class ConverterTarget implements Target {
    private final Converter converter;
    private final HeaderConverter headers;

    ConverterTarget(Converter converter, HeaderConverter headers) {
        this.converter = converter;
        this.headers = headers;
    }

    public Reply call(String name, List arguments, ColumnReader batch) throws Throwable {
        if (name.equals("configure")) {
            if (headers != null) {
                headers.configure((Map) arguments.get(1));
            } else {
                converter.configure((Map) arguments.get(1), Boolean.TRUE.equals(arguments.get(2)));
            }
            return Reply.NOTHING;
        } else if (name.equals("definition")) {
            ConfigDef definition = headers != null ? headers.config() : converter.config();
            return new Reply(Definitions.of(definition));
        }
        String topic = (String) arguments.get(1);
        String header = (String) arguments.get(2);
        int count = ((Long) arguments.get(3)).intValue();
        if (name.equals("from_connect")) {
            Schema schema = batch.schema(batch.frame().i32());
            return new Column(fromConnect(topic, header, schema, batch.read(count)));
        } else if (name.equals("to_connect")) {
            return new Values(toConnect(topic, header, batch.read(count)));
        }
        throw new IllegalArgumentException("Unknown call " + name);
    }

    private Object[] fromConnect(String topic, String header, Schema schema, Object[] values) {
        Object[] found = new Object[values.length];
        for (int i = 0; i < values.length; i++) {
            found[i] = headers != null ? headers.fromConnectHeader(topic, header, schema, values[i])
                : converter.fromConnectData(topic, schema, values[i]);
        }
        return found;
    }

    private SchemaAndValue[] toConnect(String topic, String header, Object[] data) {
        SchemaAndValue[] found = new SchemaAndValue[data.length];
        for (int i = 0; i < data.length; i++) {
            byte[] bytes = (byte[]) data[i];
            found[i] = headers != null ? headers.toConnectHeader(topic, header, bytes)
                : converter.toConnectData(topic, bytes);
        }
        return found;
    }

    public void abandoned() {
    }

    /** A column of values. */
    static final class Column extends Reply {
        private final Object[] values;

        Column(Object[] values) {
            super(null);
            this.values = values;
        }

        void batch(Output out, ColumnWriter columns, SchemaWriter schemas) {
            columns.write(values, values.length);
        }
    }

    /** Values and the schema of each. */
    static final class Values extends Reply {
        private final SchemaAndValue[] found;

        Values(SchemaAndValue[] found) {
            super(null);
            this.found = found;
        }

        void batch(Output out, ColumnWriter columns, SchemaWriter schemas) {
            Object[] values = new Object[found.length];
            for (int i = 0; i < found.length; i++) {
                out.i32(schemas.id(found[i].schema()));
                values[i] = found[i].value();
            }
            columns.write(values, values.length);
        }
    }
}
