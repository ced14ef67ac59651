package suite;

import java.rmi.ConnectException;
import java.rmi.NotBoundException;
import java.rmi.RemoteException;
import java.rmi.registry.LocateRegistry;

/** The JVM of the test, seen from a plugin. */
public final class TestJvm {
    private static Bridge bridge;

    private TestJvm() { }

    public interface Call { void on(Bridge bridge) throws RemoteException; }

    /** Raises what the test's handle raises; does nothing once the test has ended. */
    public static void call(Call call) {
        try {
            call.on(bridge());
        } catch (ConnectException ended) {
            // nobody waits for the call
        } catch (RemoteException | NotBoundException e) {
            throw new IllegalStateException(e);
        }
    }

    private static synchronized Bridge bridge() throws RemoteException, NotBoundException {
        if (bridge == null)
            bridge = (Bridge) LocateRegistry.getRegistry("127.0.0.1", Integer.getInteger(Bridge.PORT)).lookup(Bridge.NAME);
        return bridge;
    }
}
