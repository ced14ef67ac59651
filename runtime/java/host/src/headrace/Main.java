package headrace;

import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/**
 * The task host: runs plugin code only.
 *
 * Standard input is a listening Unix socket. The first connection is the control link, whose end is the end of this
 * process. Every other connection is the link of one plugin object.
 */
public final class Main {
    private Main() {
    }

    public static void main(String[] arguments) throws Exception {
        ServerSocketChannel server = (ServerSocketChannel) System.inheritedChannel();
        JulLog.prepare();
        Lease.start(arguments.length > 0 ? arguments[0] : "");
        Control control = new Control(server.accept());
        Control.instance = control;
        control.start();
        try {
            while (true) {
                SocketChannel channel = server.accept();
                new Link(channel, control).start();
            }
        } catch (Throwable limit) { // of threads or open files: later plugins would wait for an answer without end
            System.err.println("No more plugins can be created: " + limit);
            Runtime.getRuntime().halt(1);
        }
    }
}
