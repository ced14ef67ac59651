package headrace;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.runtime.InternalSinkRecord;
import org.apache.kafka.connect.runtime.errors.ProcessingContext;
import org.apache.kafka.connect.sink.SinkRecord;

/** A sink record that knows its place, for reports. Some plugins require the class from which it is derived. */
final class HostSinkRecord extends InternalSinkRecord {
    final PutBatches.Batch batch;
    int place;

    /** `batch` is null unless records are reported. `origin`: the position from which the record was read. */
    HostSinkRecord(PutBatches.Batch batch, Origin origin, String topic, int partition, Schema keySchema, Object key,
            Schema valueSchema, Object value, long offset, Long timestamp, TimestampType type, Iterable headers) {
        super(origin.context, topic, partition, keySchema, key, valueSchema, value, offset, timestamp, type, headers);
        this.batch = batch;
    }

    /** The position of a record, from which its constructor copies. One object serves any number of records. */
    static final class Origin extends ConsumerRecord {
        final ProcessingContext context = new ProcessingContext(this);
        String topic = "";
        int partition;
        long offset;

        Origin() {
            super("", 0, 0L, null, null);
        }

        public String topic() {
            return topic;
        }

        public int partition() {
            return partition;
        }

        public long offset() {
            return offset;
        }
    }

    /** The record as it was read. It is created when asked for, which plugins hardly ever do. */
    public ProcessingContext context() {
        return new ProcessingContext(new ConsumerRecord(originalTopic(), originalKafkaPartition().intValue(),
            originalKafkaOffset(), null, null));
    }

    public SinkRecord newRecord(String topic, Integer partition, Schema keySchema, Object key, Schema valueSchema,
            Object value, Long timestamp, Iterable headers) {
        Origin origin = new Origin();
        origin.topic = originalTopic();
        origin.partition = originalKafkaPartition().intValue();
        origin.offset = originalKafkaOffset();
        HostSinkRecord changed = new HostSinkRecord(batch, origin, topic, partition.intValue(), keySchema, key,
            valueSchema, value, kafkaOffset(), timestamp, timestampType(), headers);
        changed.place = place;
        return changed;
    }
}
