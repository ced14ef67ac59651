package headrace;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;

/** Frames on a Unix socket: four bytes with the length, then the body. */
final class Frames {
    private static final int SMALL = 1024;
    private static final int KEPT = 64 * 1024;
    private static final int CHUNK = 128 * 1024; // larger writes would copy into a buffer that is never released

    private final SocketChannel channel;
    private ByteBuffer body = allocate(SMALL);
    private final ByteBuffer header = allocate(4);

    Frames(SocketChannel channel) {
        this.channel = channel;
    }

    private static ByteBuffer allocate(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** The next frame, valid until the next call. EOFException at the end of the link. */
    Input read() throws IOException {
        header.clear();
        fill(header);
        int length = header.getInt(0);
        if (length > body.capacity()) {
            body = allocate(length);
        } else if (body.capacity() > KEPT && length < body.capacity() / 8) {
            body = allocate(Math.max(length, SMALL));
        }
        body.clear();
        body.limit(length);
        fill(body);
        body.flip();
        return new Input(body);
    }

    private void fill(ByteBuffer target) throws IOException {
        int end = target.limit();
        while (target.position() < end) {
            target.limit(Math.min(end, target.position() + CHUNK));
            if (channel.read(target) < 0) {
                throw new EOFException();
            }
            target.limit(end);
        }
    }

    void write(ByteBuffer frame) throws IOException {
        int end = frame.limit();
        while (frame.position() < end) {
            frame.limit(Math.min(end, frame.position() + CHUNK));
            channel.write(frame);
            frame.limit(end);
        }
    }

    void close() {
        try {
            channel.close();
        } catch (IOException ignored) {
            // The link is not used any more.
        }
    }
}
