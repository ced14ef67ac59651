package headrace;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * A Consumer for connectors that reach for the worker's. The real one belongs to the slot: this one answers what its
 * group and its partitions are, and moves them. With the group's metadata a connector can commit the offsets of its
 * records in a transaction of its own. All other methods raise UnsupportedOperationException.
 */
final class SinkConsumer implements InvocationHandler {
    final Consumer facade;
    SinkContext context;
    private final int link;
    private final Control control;

    SinkConsumer(int link, Control control) {
        this.link = link;
        this.control = control;
        this.facade = (Consumer) Proxy.newProxyInstance(
            SinkConsumer.class.getClassLoader(), new Class[] {Consumer.class}, this);
    }

    public Object invoke(Object proxy, Method method, Object[] arguments) {
        String name = method.getName();
        if (name.equals("groupMetadata")) {
            return groupMetadata();
        } else if (name.equals("assignment")) {
            return context.assignment();
        } else if (name.equals("paused")) {
            return context.pausedPartitions();
        } else if (name.equals("committed")) {
            return committed((Set) arguments[0]);
        } else if (name.equals("position")) {
            return position((TopicPartition) arguments[0]);
        } else if (name.equals("seek")) {
            seek((TopicPartition) arguments[0], arguments[1]);
        } else if (name.equals("pause")) {
            context.pause(array((Collection) arguments[0]));
        } else if (name.equals("resume")) {
            context.resume(array((Collection) arguments[0]));
        } else if (name.equals("hashCode")) {
            return Integer.valueOf(link);
        } else if (name.equals("equals")) {
            return Boolean.valueOf(proxy == arguments[0]);
        } else if (name.equals("toString")) {
            return "consumer of the sink task";
        } else {
            throw new UnsupportedOperationException("Connectors may not call " + name + "() of the worker's consumer");
        }
        return null;
    }

    private ConsumerGroupMetadata groupMetadata() {
        List found = (List) control.call(link, "group_metadata", null);
        return new ConsumerGroupMetadata((String) found.get(0), ((Long) found.get(1)).intValue(),
            (String) found.get(2), Optional.ofNullable(found.get(3)));
    }

    private Map committed(Set partitions) {
        Map found = new HashMap();
        for (Iterator all = partitions.iterator(); all.hasNext();) {
            found.put(all.next(), null); // as Java's consumer does for partitions without an offset
        }
        found.putAll(Partitions.offsets((List) control.call(link, "committed", Partitions.pairs(partitions))));
        return found;
    }

    private Object position(TopicPartition partition) {
        check(partition);
        return control.call(link, "position", Partitions.pairs(java.util.Collections.singleton(partition)));
    }

    private void seek(TopicPartition partition, Object offset) {
        check(partition);
        context.offset(partition, offset instanceof OffsetAndMetadata
            ? ((OffsetAndMetadata) offset).offset() : ((Long) offset).longValue());
    }

    private void check(TopicPartition partition) {
        if (!context.assignment().contains(partition)) {
            throw new IllegalStateException("No current assignment for partition " + partition);
        }
    }

    private static TopicPartition[] array(Collection partitions) {
        return (TopicPartition[]) partitions.toArray(new TopicPartition[0]);
    }
}
