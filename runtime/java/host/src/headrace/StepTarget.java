package headrace;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** A transformation or a predicate. */
final class StepTarget implements Target {
    private final Transformation transformation;
    private final Predicate predicate;

    StepTarget(Transformation transformation, Predicate predicate) {
        this.transformation = transformation;
        this.predicate = predicate;
    }

    public Reply call(String name, List arguments, ColumnReader batch) throws Throwable {
        if (name.equals("configure")) {
            if (predicate != null) {
                predicate.configure((Map) arguments.get(1));
            } else {
                transformation.configure((Map) arguments.get(1));
            }
            return Reply.NOTHING;
        } else if (name.equals("definition")) {
            return new Reply(Definitions.of(predicate != null ? predicate.config() : transformation.config()));
        } else if (name.equals("close")) {
            abandoned();
            return Reply.NOTHING;
        }
        RecordReader reader = new RecordReader(batch);
        List records = Boolean.TRUE.equals(arguments.get(1)) ? reader.sink(0L) : reader.source();
        if (name.equals("test")) {
            List results = new ArrayList();
            for (Iterator all = records.iterator(); all.hasNext();) {
                results.add(Boolean.valueOf(predicate.test((ConnectRecord) all.next())));
            }
            return new Reply(results);
        } else if (name.equals("apply")) {
            return applied(records);
        }
        throw new IllegalArgumentException("Unknown call " + name);
    }

    /** The transformed records; the value of the reply has the places of those that were not dropped. */
    private Reply applied(List records) {
        List places = new ArrayList();
        List kept = new ArrayList();
        for (int i = 0; i < records.size(); i++) {
            Object result = transformation.apply((ConnectRecord) records.get(i));
            if (result != null) {
                places.add(Long.valueOf(i));
                kept.add(result);
            }
        }
        return kept.isEmpty() ? new Reply(places) : new SourceTaskTarget.Records(places, kept);
    }

    public void abandoned() {
        try {
            if (predicate != null) {
                predicate.close();
            } else {
                transformation.close();
            }
        } catch (Exception ignored) {
            Log.emit("WARN", getClass().getName(), "A transformation or predicate could not be closed", ignored);
        }
    }
}
