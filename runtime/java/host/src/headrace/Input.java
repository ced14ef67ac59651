package headrace;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Reads one frame: little-endian numbers, strings and arrays. */
final class Input {
    final ByteBuffer buffer;

    Input(ByteBuffer buffer) {
        this.buffer = buffer;
    }

    int u8() {
        return buffer.get() & 0xff;
    }

    int i32() {
        return buffer.getInt();
    }

    long i64() {
        return buffer.getLong();
    }

    byte[] bytes(int count) {
        byte[] data = new byte[count];
        buffer.get(data);
        return data;
    }

    /** A string with its length; null for -1. */
    String string() {
        int length = buffer.getInt();
        return length < 0 ? null : string(length);
    }

    /** The next bytes as a string. */
    String string(int length) {
        int start = buffer.position();
        String text = new String(buffer.array(), buffer.arrayOffset() + start, length, StandardCharsets.UTF_8);
        buffer.position(start + length);
        return text;
    }

    int[] ints(int count) {
        int[] found = new int[count];
        buffer.asIntBuffer().get(found);
        buffer.position(buffer.position() + 4 * count);
        return found;
    }
}
