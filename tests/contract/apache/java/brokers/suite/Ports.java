package suite;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/** Ports below those that the system gives to clients, so that servers can be restarted on them. */
public final class Ports {
    private static final int FIRST = 30_000;
    private static final int NUMBER = 2_700;
    private static final AtomicInteger NEXT = new AtomicInteger(ThreadLocalRandom.current().nextInt(NUMBER));

    private Ports() { }

    /** A port that nobody listens on; none is returned twice before all others. */
    public static int free() {
        for (int tried = 0; tried < NUMBER; tried++) {
            int port = FIRST + NEXT.getAndIncrement() % NUMBER;
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (IOException inUse) {
                // the next one
            }
        }
        throw new IllegalStateException("no port is free");
    }
}
