package headrace;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.connect.util.LoggingContext;

/** One plugin object and the thread on which all its methods are called. */
final class Link implements Runnable {
    static final int MOST_BYTES = 256 << 20; // of a batch; link.py refuses longer frames

    final Frames frames;
    final Thread thread;
    private final Control control;
    private final Output out = new Output();
    private final Output body = new Output(MOST_BYTES);
    private final SchemaWriter schemaWriter = new SchemaWriter();
    private final ColumnWriter writer = new ColumnWriter(body, schemaWriter);
    private final SchemaReader schemas = new SchemaReader();
    private final ColumnReader reader = new ColumnReader(schemas);
    private volatile Target target;
    private volatile ClassLoader loader;
    private int id;

    Link(SocketChannel channel, Control control) {
        this.frames = new Frames(channel);
        this.control = control;
        this.thread = new Thread(this, "link");
    }

    void start() {
        thread.start();
    }

    public void run() {
        try {
            while (true) {
                Input in = frames.read();
                Lease.check();
                answer(in);
            }
        } catch (IOException ended) {
            // The slot has closed the link.
        } catch (Throwable error) {
            Log.emit("ERROR", "headrace.Link", "A link failed", error);
        } finally {
            frames.close();
            try {
                if (target != null) {
                    Thread.interrupted();
                    Thread.currentThread().setContextClassLoader(loader);
                    target.abandoned();
                }
            } finally {
                control.remove(id); // until here the thread counts as running
            }
        }
    }

    private void answer(Input in) throws IOException {
        reader.begin(in);
        schemas.read(in, reader);
        List call = (List) reader.value();
        schemaWriter.begin();
        body.begin();
        int start = body.position();
        try {
            Reply reply = execute((String) call.get(0), call);
            body.u8(0);
            writer.value(reply.value);
            reply.batch(body, writer, schemaWriter);
        } catch (OutOfMemoryError error) {
            Log.fatal(error);
        } catch (Throwable error) {
            body.truncate(start);
            body.u8(1);
            writer.value(Errors.describe(error));
        }
        Thread.interrupted(); // an interrupt that came too late must not reach the next call
        out.begin();
        schemaWriter.flush(out);
        java.nio.ByteBuffer all = body.frame();
        all.position(4);
        out.bytes(all);
        frames.write(out.frame());
    }

    Target target() {
        return target;
    }

    ClassLoader loader() {
        return loader;
    }

    private Reply execute(String name, List call) throws Throwable {
        if (target == null) {
            return open(call);
        }
        Thread.currentThread().setContextClassLoader(loader);
        return target.call(name, call, reader);
    }

    /** The first call: [kind, id, thread name, location, jars, class, log context, connector.context or empty]. */
    private Reply open(List call) throws Throwable {
        String kind = (String) call.get(0);
        id = ((Long) call.get(1)).intValue();
        thread.setName((String) call.get(2));
        control.add(id, this);
        Log.context((String) call.get(6));
        String owner = (String) call.get(7);
        if (!owner.isEmpty()) {
            org.slf4j.MDC.put(LoggingContext.CONNECTOR_CONTEXT, owner + " ");
        }
        if (kind.equals("admin")) {
            target = new Admin(control);
            loader = Link.class.getClassLoader();
            return Reply.NOTHING;
        }
        loader = Loaders.of((String) call.get(3), (List) call.get(4));
        thread.setContextClassLoader(loader);
        Loaders.registerDrivers(loader);
        Object plugin = Loaders.create(loader, (String) call.get(5));
        Target made = Targets.of(kind, plugin, id, control);
        List facts = new ArrayList();
        facts.add(Targets.version(plugin));
        facts.add(Boolean.valueOf(Overrides.commitRecord(plugin)));
        facts.add(Boolean.valueOf(Overrides.commit(plugin)));
        facts.add(Boolean.valueOf(ConverterTarget.usesHeaders(plugin)));
        target = made;
        return new Reply(facts);
    }
}
