package headrace;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;

/** A converter or a header converter. Values that fail do not affect the others of a call. */
final class ConverterTarget extends ConfiguredTarget {
    private final Converter converter;
    private final HeaderConverter headers;

    ConverterTarget(Converter converter, int link, Control control) {
        super(converter, link, control, "connector,task,converter");
        this.converter = converter;
        this.headers = null;
    }

    ConverterTarget(HeaderConverter headers, int link, Control control) {
        super(headers, link, control, "connector,task,converter");
        this.converter = null;
        this.headers = headers;
    }

    /** Whether a converter reads or writes the headers of records: it overrides a method that has them. */
    static boolean usesHeaders(Object converter) {
        if (!(converter instanceof Converter)) {
            return false;
        }
        Method[] methods;
        try {
            methods = converter.getClass().getMethods();
        } catch (LinkageError missing) { // a class in the signature of a method
            return true;
        }
        for (int i = 0; i < methods.length; i++) {
            Class[] parameters = methods[i].getParameterTypes();
            String name = methods[i].getName();
            if ((name.equals("fromConnectData") || name.equals("toConnectData")) && parameters.length > 2
                    && parameters[1] == Headers.class && methods[i].getDeclaringClass() != Converter.class) {
                return true;
            }
        }
        return false;
    }

    void configure(List arguments) {
        if (converter != null) {
            converter.configure((Map) arguments.get(1), Boolean.TRUE.equals(arguments.get(2)));
        } else {
            super.configure(arguments);
        }
    }

    Reply answer(String name, List arguments, ColumnReader batch) throws Throwable {
        String topic = (String) arguments.get(1);
        if (name.equals("from_connect_with_headers")) {
            Headers found = headers((List) arguments.get(2));
            Schema schema = batch.schema(batch.frame().i32());
            byte[] data = converter.fromConnectData(topic, found, schema, batch.value());
            return new Column(list(found), new Object[] {data});
        } else if (name.equals("to_connect_with_headers")) {
            return new Values(null, new Object[] {
                converter.toConnectData(topic, headers((List) arguments.get(2)), (byte[]) batch.value())});
        }
        String header = (String) arguments.get(2);
        int count = ((Long) arguments.get(3)).intValue();
        List failures = new ArrayList();
        if (name.equals("from_connect")) {
            Schema schema = batch.schema(batch.frame().i32());
            Object[] found = converted(topic, header, schema, batch.read(count), true, failures);
            return new Column(failures, found);
        } else if (name.equals("to_connect")) {
            return new Values(failures, converted(topic, header, null, batch.read(count), false, failures));
        }
        throw new IllegalArgumentException("Unknown call " + name);
    }

    /**
     * The results, null for values that failed. Failures are [place, error]; values behind an error that may be retried,
     * behind an Error and behind many errors are not converted: the last failure has no error.
     */
    private Object[] converted(String topic, String header, Schema schema, Object[] values, boolean out, List failures) {
        Object[] found = new Object[values.length];
        for (int i = 0; i < values.length; i++) {
            try {
                found[i] = out ? (Object) fromConnect(topic, header, schema, values[i])
                    : (Object) toConnect(topic, header, (byte[]) values[i]);
            } catch (OutOfMemoryError error) {
                throw error;
            } catch (Throwable error) {
                failures.add(failure(i, Errors.describe(error)));
                if (i + 1 < values.length && !Errors.continues(error, failures.size())) {
                    failures.add(failure(i + 1, null));
                    break;
                }
            }
        }
        return found;
    }

    private static List failure(int place, Object error) {
        List one = new ArrayList();
        one.add(Long.valueOf(place));
        one.add(error);
        return one;
    }

    private byte[] fromConnect(String topic, String header, Schema schema, Object value) {
        return headers != null ? headers.fromConnectHeader(topic, header, schema, value)
            : converter.fromConnectData(topic, schema, value);
    }

    private SchemaAndValue toConnect(String topic, String header, byte[] data) {
        return headers != null ? headers.toConnectHeader(topic, header, data) : converter.toConnectData(topic, data);
    }

    private static Headers headers(List pairs) {
        RecordHeaders found = new RecordHeaders();
        for (int i = 0; i < pairs.size(); i++) {
            List pair = (List) pairs.get(i);
            found.add((String) pair.get(0), (byte[]) pair.get(1));
        }
        return found;
    }

    private static List list(Headers headers) {
        org.apache.kafka.common.header.Header[] all = headers.toArray();
        List found = new ArrayList();
        for (int i = 0; i < all.length; i++) {
            List pair = new ArrayList();
            pair.add(all[i].key());
            pair.add(all[i].value());
            found.add(pair);
        }
        return found;
    }

    /** A column of values. */
    static final class Column extends Reply {
        private final Object[] values;

        Column(Object facts, Object[] values) {
            super(facts);
            this.values = values;
        }

        void batch(Output out, ColumnWriter columns, SchemaWriter schemas) {
            columns.write(values, values.length);
        }
    }

    /** Values and the schema of each: one number if all have the same. */
    static final class Values extends Reply {
        private final Object[] found;

        Values(Object facts, Object[] found) {
            super(facts);
            this.found = found;
        }

        void batch(Output out, ColumnWriter columns, SchemaWriter schemas) {
            Object[] values = new Object[found.length];
            int[] ids = new int[found.length];
            boolean same = true;
            for (int i = 0; i < found.length; i++) {
                SchemaAndValue one = found[i] == null ? SchemaAndValue.NULL : (SchemaAndValue) found[i];
                ids[i] = schemas.id(one.schema());
                values[i] = one.value();
                same = same && ids[i] == ids[0];
            }
            out.u8(same ? 1 : 0);
            for (int i = 0; i < (same ? Math.min(1, ids.length) : ids.length); i++) {
                out.i32(ids[i]);
            }
            columns.write(values, values.length);
        }
    }
}
