package headrace;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The control link: calls of contexts and log events go to the slot, answers and interrupts come from it. The end of
 * the link is the end of the process.
 */
final class Control implements Runnable {
    static volatile Control instance;

    private final Frames frames;
    private final ControlWriter toSlot;
    private final Output out = new Output(Link.MOST_BYTES);
    private final SchemaWriter schemaWriter = new SchemaWriter();
    private final ColumnWriter writer = new ColumnWriter(out, schemaWriter);
    private final SchemaReader schemas = new SchemaReader();
    private final ColumnReader reader = new ColumnReader(schemas);
    private final Map waiting = new HashMap();
    private final Map links = new HashMap();
    private long calls;

    /** An answer that a thread waits for. */
    static final class Answer {
        boolean done;
        Object value;
        String error;
    }

    Control(SocketChannel channel) {
        frames = new Frames(channel);
        toSlot = new ControlWriter(frames);
    }

    /** Reads the first message, with the plugins of all locations, and starts to serve the others. */
    void start() throws IOException {
        reader.begin(frames.read());
        List plugins = (List) reader.value();
        Loaders.plugins((Map) plugins.get(0), (Map) plugins.get(1));
        new Thread(this, "control").start();
    }

    void add(int id, Link link) {
        synchronized (links) {
            links.put(Integer.valueOf(id), link);
        }
    }

    void remove(int id) {
        synchronized (links) {
            links.remove(Integer.valueOf(id));
        }
    }

    /** The numbers of the links whose threads run. */
    List running() {
        List found = new ArrayList();
        synchronized (links) {
            for (java.util.Iterator all = links.keySet().iterator(); all.hasNext();) {
                found.add(Long.valueOf(((Integer) all.next()).longValue()));
            }
        }
        return found;
    }

    Thread thread(int id) {
        Link link = link(id);
        return link == null ? null : link.thread;
    }

    /** The link with a number; null if it has ended. */
    Link link(int id) {
        synchronized (links) {
            return (Link) links.get(Integer.valueOf(id));
        }
    }

    /** Calls a context of the slot and waits for the answer. ConnectException with the error of the slot. */
    Object call(int link, String name, Object argument) {
        Answer answer = new Answer();
        Long id;
        synchronized (waiting) {
            id = Long.valueOf(++calls);
            waiting.put(id, answer);
        }
        List message = new ArrayList();
        message.add(id);
        message.add(Integer.valueOf(link));
        message.add(name);
        message.add(argument);
        try {
            send(message);
        } catch (RuntimeException tooLarge) {
            synchronized (waiting) {
                waiting.remove(id);
            }
            throw tooLarge;
        }
        synchronized (answer) {
            while (!answer.done) {
                try {
                    answer.wait();
                } catch (InterruptedException interrupted) {
                    Thread.currentThread().interrupt();
                    throw new org.apache.kafka.connect.errors.ConnectException("Interrupted while waiting for the worker");
                }
            }
        }
        if (answer.error != null) {
            throw new org.apache.kafka.connect.errors.ConnectException(answer.error);
        }
        return answer.value;
    }

    /** Sends an event that has no answer. */
    void event(int link, String name, Object argument) {
        List message = new ArrayList();
        message.add(Long.valueOf(0));
        message.add(Integer.valueOf(link));
        message.add(name);
        message.add(argument);
        send(message);
    }

    private void send(Object message) {
        synchronized (out) {
            out.begin();
            schemaWriter.begin();
            writer.value(message);
            toSlot.write(out.frame());
        }
    }

    public void run() {
        try {
            while (true) {
                Input in = frames.read();
                reader.begin(in);
                List message = (List) reader.value();
                String name = (String) message.get(0);
                if (name.equals("answer")) {
                    answer(message);
                } else if (name.equals("interrupt")) {
                    Thread thread = thread(((Long) message.get(1)).intValue());
                    if (thread != null) {
                        thread.interrupt();
                    }
                } else if (name.equals("level")) {
                    Log.level((String) message.get(1), (String) message.get(2));
                }
            }
        } catch (IOException gone) {
            Runtime.getRuntime().halt(0);
        } catch (Throwable error) {
            System.err.println("The control link failed: " + Errors.trace(error));
            Runtime.getRuntime().halt(1);
        }
    }

    private void answer(List message) {
        Answer answer;
        synchronized (waiting) {
            answer = (Answer) waiting.remove(message.get(1));
        }
        if (answer == null) {
            return;
        }
        synchronized (answer) {
            answer.error = (String) message.get(2);
            answer.value = message.get(3);
            answer.done = true;
            answer.notifyAll();
        }
    }
}
