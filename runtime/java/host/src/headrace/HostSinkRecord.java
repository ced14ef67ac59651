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

    /** `batch` is null unless records are reported. The last three: the position from which the record was read. */
    HostSinkRecord(PutBatches.Batch batch, String topic, int partition, Schema keySchema, Object key,
            Schema valueSchema, Object value, long offset, Long timestamp, TimestampType type, Iterable headers,
            String originalTopic, int originalPartition, long originalOffset) {
        super(new ProcessingContext(new ConsumerRecord(originalTopic, originalPartition, originalOffset, null, null)),
            topic, partition, keySchema, key, valueSchema, value, offset, timestamp, type, headers);
        this.batch = batch;
    }

    public SinkRecord newRecord(String topic, Integer partition, Schema keySchema, Object key, Schema valueSchema,
            Object value, Long timestamp, Iterable headers) {
        HostSinkRecord changed = new HostSinkRecord(batch, topic, partition.intValue(), keySchema, key, valueSchema,
            value, kafkaOffset(), timestamp, timestampType(), headers, originalTopic(),
            originalKafkaPartition().intValue(), originalKafkaOffset());
        changed.place = place;
        return changed;
    }
}
