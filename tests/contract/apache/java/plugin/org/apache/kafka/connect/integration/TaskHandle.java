package org.apache.kafka.connect.integration;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;
import suite.TestJvm;

public class TaskHandle {
    private final String connector;
    private final String id;
    private final String handle = UUID.randomUUID().toString();

    TaskHandle(String connector, String id) {
        this.connector = connector;
        this.id = id;
    }

    public String taskId() { return id; }
    public void record() { call("record", 1); }
    public void record(int batch) { call("record", batch); }
    public void commit() { call("commit", 1); }
    public void commit(int batch) { call("commit", batch); }
    public void recordTaskStart() { call("start", 0); }
    public void recordTaskStop() { call("stop", 0); }
    public void partitionsAssigned(Collection<TopicPartition> partitions) { call("assigned", partitions); }
    public void partitionsRevoked(Collection<TopicPartition> partitions) { call("revoked", partitions); }
    public void partitionsCommitted(Collection<TopicPartition> partitions) { call("committed", partitions); }

    public void record(SinkRecord record) {
        List<Object[]> headers = new ArrayList<>();
        for (Header header : record.headers()) headers.add(new Object[] {header.key(), plain(header.value())});
        Object[] fields = {
            record.topic(), record.kafkaPartition(), plain(record.key()), plain(record.value()), record.kafkaOffset(),
            record.timestamp(), record.timestampType(), headers.toArray(new Object[0][])
        };
        TestJvm.call(test -> test.record(handle, connector, id, fields));
    }

    private static Object plain(Object value) {
        return value == null || value instanceof Serializable ? value : value.toString();
    }

    private void call(String name, int count) { TestJvm.call(test -> test.task(handle, connector, id, name, count)); }

    private void call(String name, Collection<TopicPartition> partitions) {
        TestJvm.call(test -> test.partitions(handle, connector, id, name, new ArrayList<>(partitions)));
    }
}
