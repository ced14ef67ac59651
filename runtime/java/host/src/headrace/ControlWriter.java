package headrace;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.LinkedList;

/**
 * Writes the control link, on a thread of its own: a channel is closed when a thread that uses it is interrupted, and
 * any thread of a plugin may be.
 */
final class ControlWriter implements Runnable {
    private static final int MOST_BYTES = 4 * 1024 * 1024; // that wait to be written

    private final Frames frames;
    private final LinkedList waiting = new LinkedList();
    private int bytes;

    ControlWriter(Frames frames) {
        this.frames = frames;
        Thread thread = new Thread(this, "control-writer");
        thread.setDaemon(true);
        thread.start();
    }

    /** Adds a frame; waits while too many have not been written, also if the thread is interrupted. */
    void write(ByteBuffer frame) {
        byte[] data = new byte[frame.remaining()];
        frame.get(data);
        boolean interrupted = false;
        synchronized (waiting) {
            while (bytes > MOST_BYTES) {
                try {
                    waiting.wait();
                } catch (InterruptedException late) {
                    interrupted = true;
                }
            }
            waiting.add(data);
            bytes += data.length;
            waiting.notifyAll();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    public void run() {
        try {
            while (true) {
                frames.write(ByteBuffer.wrap(next()));
            }
        } catch (IOException gone) {
            Runtime.getRuntime().halt(0);
        }
    }

    private byte[] next() {
        synchronized (waiting) {
            while (waiting.isEmpty()) {
                try {
                    waiting.wait();
                } catch (InterruptedException ignored) {
                    // Nobody interrupts this thread on purpose.
                }
            }
            byte[] data = (byte[]) waiting.removeFirst();
            bytes -= data.length;
            waiting.notifyAll();
            return data;
        }
    }
}
