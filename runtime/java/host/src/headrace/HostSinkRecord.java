package headrace;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.runtime.InternalSinkRecord;
import org.apache.kafka.connect.runtime.errors.ProcessingContext;
import org.apache.kafka.connect.sink.SinkRecord;

/** A sink record that knows its place, for reports. Some plugins require the class from which it is derived. */
final class HostSinkRecord extends InternalSinkRecord {
    final long batch;
    int place;

    HostSinkRecord(SinkRecord record, long batch) {
        super(origin(record), record);
        this.batch = batch;
    }

    private HostSinkRecord(ProcessingContext context, SinkRecord record, long batch, int place) {
        super(context, record);
        this.batch = batch;
        this.place = place;
    }

    private static ProcessingContext origin(SinkRecord record) {
        return new ProcessingContext(new ConsumerRecord(record.originalTopic(),
            record.originalKafkaPartition().intValue(), record.originalKafkaOffset(), null, null));
    }

    public SinkRecord newRecord(String topic, Integer partition, Schema keySchema, Object key, Schema valueSchema,
            Object value, Long timestamp, Iterable headers) {
        SinkRecord changed = new SinkRecord(topic, partition.intValue(), keySchema, key, valueSchema, value,
            kafkaOffset(), timestamp, timestampType(), headers, originalTopic(), originalKafkaPartition(),
            originalKafkaOffset());
        return new HostSinkRecord(context(), changed, batch, place);
    }
}
