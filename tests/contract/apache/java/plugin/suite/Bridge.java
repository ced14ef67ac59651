package suite;

import java.rmi.Remote;
import java.rmi.RemoteException;
import java.util.Collection;
import org.apache.kafka.common.TopicPartition;

/**
 * The handles of the test's JVM, for the test's plugins in the JVMs of the workers. `handle` identifies the object there:
 * each of a plugin's handles keeps the one of the test's that it began with.
 */
public interface Bridge extends Remote {
    String NAME = "handles";
    /** The system property with the port of the registry. */
    String PORT = "suite.bridge";

    void connector(String handle, String connector, String call) throws RemoteException;
    void task(String handle, String connector, String task, String call, int count) throws RemoteException;
    void partitions(String handle, String connector, String task, String call, Collection<TopicPartition> partitions) throws RemoteException;
    void record(String handle, String connector, String task, Object[] record) throws RemoteException;
    void newBlock(String handle, String where) throws RemoteException;
    /** Returns when the test releases the block. */
    void blockOn(String handle, String where) throws RemoteException;
}
