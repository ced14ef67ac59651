package org.apache.kafka.connect.own;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.transforms.Transformation;

/** In a package of Kafka's, but not of the worker. */
public class Own implements Transformation {
    public ConnectRecord apply(ConnectRecord record) { return record; }
    public void configure(Map configs) { }
    public void close() { }
    public ConfigDef config() { return new ConfigDef(); }
}
