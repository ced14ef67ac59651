package suite;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.rmi.RemoteException;
import java.rmi.registry.LocateRegistry;
import java.rmi.registry.Registry;
import java.rmi.server.UnicastRemoteObject;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.integration.BlockingConnectorTest.Block;
import org.apache.kafka.connect.integration.ConnectorHandle;
import org.apache.kafka.connect.integration.RuntimeHandles;
import org.apache.kafka.connect.integration.TaskHandle;
import org.apache.kafka.connect.sink.SinkRecord;

/** Calls of plugins in the workers' JVMs, on Apache's handles in this one. */
final class Handles implements Bridge {
    private static final Handles EXPORTED = new Handles();  // the registry keeps neither itself nor these
    private static Registry registry;
    private static int port;
    private final Map<String, Block> blocks = new ConcurrentHashMap<>();
    private final Map<String, ConnectorHandle> connectors = new ConcurrentHashMap<>();
    private final Map<String, TaskHandle> tasks = new ConcurrentHashMap<>();

    /** The port of the registry, on the loopback interface. */
    static synchronized int port() throws RemoteException {
        if (port == 0) {
            System.setProperty("java.rmi.server.hostname", "127.0.0.1");
            port = Ports.free();
            registry = LocateRegistry.createRegistry(port, null, Handles::socket);
            registry.rebind(NAME, UnicastRemoteObject.exportObject(EXPORTED, Ports.free(), null, Handles::socket));
        }
        return port;
    }

    private static ServerSocket socket(int at) throws java.io.IOException {
        return new ServerSocket(at, 50, InetAddress.getLoopbackAddress());
    }

    private TaskHandle task(String handle, String connector, String task) {
        return tasks.computeIfAbsent(handle, h -> RuntimeHandles.get().connectorHandle(connector).taskHandle(task));
    }

    @Override
    public void connector(String handle, String connector, String call) {
        ConnectorHandle own = connectors.computeIfAbsent(handle, h -> RuntimeHandles.get().connectorHandle(connector));
        if (call.equals("start")) own.recordConnectorStart(); else own.recordConnectorStop();
    }

    @Override
    public void task(String handle, String connector, String task, String call, int count) {
        TaskHandle own = task(handle, connector, task);
        switch (call) {
            case "start" -> own.recordTaskStart();
            case "stop" -> own.recordTaskStop();
            case "record" -> own.record(count);
            case "commit" -> own.commit(count);
            default -> throw new IllegalArgumentException(call);
        }
    }

    @Override
    public void partitions(String handle, String connector, String task, String call, Collection<TopicPartition> partitions) {
        TaskHandle own = task(handle, connector, task);
        switch (call) {
            case "assigned" -> own.partitionsAssigned(partitions);
            case "revoked" -> own.partitionsRevoked(partitions);
            case "committed" -> own.partitionsCommitted(partitions);
            default -> throw new IllegalArgumentException(call);
        }
    }

    @Override
    public void record(String handle, String connector, String task, Object[] fields) {
        ConnectHeaders headers = new ConnectHeaders();
        for (Object[] header : (Object[][]) fields[7]) headers.add((String) header[0], header[1], null);
        task(handle, connector, task).record(new SinkRecord((String) fields[0], (int) fields[1], null, fields[2], null, fields[3],
            (long) fields[4], (Long) fields[5], (TimestampType) fields[6], headers));
    }

    @Override
    public void newBlock(String handle, String where) { blocks.put(handle, new Block(where)); }

    @Override
    public void blockOn(String handle, String where) { blocks.get(handle).maybeBlockOn(where); }
}
