package headrace;

import java.io.DataInputStream;
import java.io.InputStream;
import java.lang.reflect.Method;
import org.apache.kafka.connect.source.SourceTask;

/** Whether a source task overrides methods with a body that does something. */
final class Overrides {
    private static final String RECORD =
        "(Lorg/apache/kafka/connect/source/SourceRecord;Lorg/apache/kafka/clients/producer/RecordMetadata;)V";

    private Overrides() {
    }

    /** Whether a source task needs a report for each record. */
    static boolean commitRecord(Object task) {
        return overrides(task, "commitRecord", RECORD, 2);
    }

    /** Whether a source task needs to know that its offsets have been committed. */
    static boolean commit(Object task) {
        return overrides(task, "commit", "()V", 0);
    }

    private static boolean overrides(Object task, String name, String signature, int parameters) {
        if (!(task instanceof SourceTask)) {
            return false;
        }
        try {
            for (Class one = task.getClass(); one != null && one != SourceTask.class; one = one.getSuperclass()) {
                Method[] methods = one.getDeclaredMethods();
                for (int i = 0; i < methods.length; i++) {
                    if (methods[i].getName().equals(name) && methods[i].getParameterTypes().length == parameters) {
                        return !isEmpty(one, name, signature);
                    }
                }
            }
        } catch (LinkageError missing) { // a class in another method's signature, which Connect does not need either
            return true;
        }
        return false;
    }

    /** Whether the method's code is a single return instruction. If its class file cannot be read, it is not. */
    private static boolean isEmpty(Class owner, String method, String signature) {
        String file = owner.getName().replace('.', '/') + ".class";
        try {
            InputStream stream = owner.getClassLoader().getResourceAsStream(file);
            if (stream == null) {
                return false;
            }
            DataInputStream in = new DataInputStream(new java.io.BufferedInputStream(stream));
            try {
                return codeLength(in, method, signature) == 1;
            } finally {
                in.close();
            }
        } catch (Exception unreadable) {
            return false;
        }
    }

    private static int codeLength(DataInputStream in, String method, String signature) throws java.io.IOException {
        in.skipBytes(8);
        String[] texts = constants(in);
        in.skipBytes(6);
        in.skipBytes(2 * in.readUnsignedShort());
        for (int members = 0; members < 2; members++) {
            int count = in.readUnsignedShort();
            for (int i = 0; i < count; i++) {
                in.skipBytes(2);
                String name = texts[in.readUnsignedShort()];
                String type = texts[in.readUnsignedShort()];
                boolean wanted = members == 1 && method.equals(name) && signature.equals(type);
                int attributes = in.readUnsignedShort();
                for (int a = 0; a < attributes; a++) {
                    String attribute = texts[in.readUnsignedShort()];
                    int length = in.readInt();
                    if (wanted && "Code".equals(attribute)) {
                        in.skipBytes(4);
                        return in.readInt();
                    }
                    skip(in, length);
                }
            }
        }
        return -1;
    }

    private static void skip(DataInputStream in, int count) throws java.io.IOException {
        for (int left = count; left > 0;) {
            int done = in.skipBytes(left);
            if (done <= 0) {
                throw new java.io.EOFException();
            }
            left -= done;
        }
    }

    private static String[] constants(DataInputStream in) throws java.io.IOException {
        int count = in.readUnsignedShort();
        String[] texts = new String[count];
        for (int i = 1; i < count; i++) {
            switch (in.readUnsignedByte()) {
                case 1:
                    texts[i] = in.readUTF();
                    break;
                case 7:
                case 8:
                case 16:
                case 19:
                case 20:
                    skip(in, 2);
                    break;
                case 15:
                    skip(in, 3);
                    break;
                case 5:
                case 6:
                    skip(in, 8);
                    i++;
                    break;
                default:
                    skip(in, 4);
            }
        }
        return texts;
    }
}
