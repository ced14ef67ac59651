package headrace;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Partitions and offsets in the messages between the task host and its slot. */
final class Partitions {
    private Partitions() {
    }

    static List pairs(Collection partitions) {
        List found = new ArrayList();
        for (Iterator all = partitions.iterator(); all.hasNext();) {
            TopicPartition partition = (TopicPartition) all.next();
            List pair = new ArrayList();
            pair.add(partition.topic());
            pair.add(Long.valueOf(partition.partition()));
            found.add(pair);
        }
        return found;
    }

    static List triple(TopicPartition partition, long offset) {
        List one = new ArrayList();
        one.add(partition.topic());
        one.add(Long.valueOf(partition.partition()));
        one.add(Long.valueOf(offset));
        return one;
    }

    static Collection of(List pairs) {
        List found = new ArrayList();
        for (Iterator all = pairs.iterator(); all.hasNext();) {
            found.add(partition((List) all.next()));
        }
        return found;
    }

    /** Offsets by partition, from lists of topic, partition, offset and perhaps metadata. */
    static Map offsets(List lists) {
        Map found = new HashMap();
        for (Iterator all = lists.iterator(); all.hasNext();) {
            List one = (List) all.next();
            String metadata = one.size() > 3 ? (String) one.get(3) : "";
            found.put(partition(one), new OffsetAndMetadata(((Long) one.get(2)).longValue(), metadata));
        }
        return found;
    }

    /** Lists of topic, partition, offset and metadata. Partitions without an offset are left out. */
    static List list(Map offsets) {
        List found = new ArrayList();
        if (offsets == null) {
            return found;
        }
        for (Iterator all = offsets.entrySet().iterator(); all.hasNext();) {
            Map.Entry entry = (Map.Entry) all.next();
            if (entry.getValue() != null) {
                OffsetAndMetadata offset = (OffsetAndMetadata) entry.getValue();
                List one = triple((TopicPartition) entry.getKey(), offset.offset());
                one.add(offset.metadata());
                found.add(one);
            }
        }
        return found;
    }

    private static TopicPartition partition(List one) {
        return new TopicPartition((String) one.get(0), ((Long) one.get(1)).intValue());
    }
}
