package headrace;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** A growing buffer of little-endian numbers, strings and arrays: one frame. */
final class Output {
    private static final int SMALL = 1024;
    private static final int KEPT = 64 * 1024;

    private static final int LARGEST = Integer.MAX_VALUE - 16;

    private final int largest;
    private ByteBuffer buffer = allocate(SMALL);

    Output() {
        this(LARGEST);
    }

    /** At most as many bytes. */
    Output(int largest) {
        this.largest = largest;
    }

    private static ByteBuffer allocate(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Starts a frame; its length is set by frame(). A large buffer that the last frame hardly used is released. */
    void begin() {
        if (buffer.capacity() > KEPT && buffer.position() < buffer.capacity() / 8) {
            buffer = allocate(SMALL);
        }
        buffer.clear();
        buffer.putInt(0);
    }

    /** The complete frame. */
    ByteBuffer frame() {
        buffer.putInt(0, buffer.position() - 4);
        ByteBuffer frame = (ByteBuffer) buffer.duplicate();
        frame.flip();
        return frame;
    }

    int position() {
        return buffer.position();
    }

    /** Discards everything after a position. */
    void truncate(int position) {
        buffer.position(position);
    }

    private void ensure(int more) {
        long needed = (long) buffer.position() + more;
        if (needed <= buffer.capacity()) {
            return;
        }
        if (needed > largest) {
            throw new IllegalStateException("A batch is larger than " + (largest >> 20)
                + " MiB: configure the connector to return fewer or smaller records at once");
        }
        long size = Math.min(Math.max(needed, buffer.capacity() * 2L), largest);
        ByteBuffer larger = allocate((int) size);
        buffer.flip();
        larger.put(buffer);
        buffer = larger;
    }

    void u8(int value) {
        ensure(1);
        buffer.put((byte) value);
    }

    void i32(int value) {
        ensure(4);
        buffer.putInt(value);
    }

    void i64(long value) {
        ensure(8);
        buffer.putLong(value);
    }

    void bytes(byte[] data) {
        ensure(data.length);
        buffer.put(data);
    }

    void bytes(ByteBuffer data) {
        ensure(data.remaining());
        buffer.put((ByteBuffer) data.duplicate());
    }

    /** A string with its length; -1 for null. */
    void string(String text) {
        if (text == null) {
            i32(-1);
            return;
        }
        byte[] data = text.getBytes(StandardCharsets.UTF_8);
        i32(data.length);
        bytes(data);
    }

    void setInt(int position, int value) {
        buffer.putInt(position, value);
    }

    void skip(int count) {
        ensure(count);
        buffer.position(buffer.position() + count);
    }

    void i16(int value) {
        ensure(2);
        buffer.putShort((short) value);
    }

    void f32(float value) {
        ensure(4);
        buffer.putFloat(value);
    }

    void f64(double value) {
        ensure(8);
        buffer.putDouble(value);
    }
}
