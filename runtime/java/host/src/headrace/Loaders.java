package headrace;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.io.File;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.runtime.isolation.DelegatingClassLoader;
import org.apache.kafka.connect.runtime.isolation.PluginClassLoader;

/** One class loader for each location of plugins, as in Connect: its jars come before those of the worker. */
final class Loaders {
    private static final DelegatingClassLoader PARENT = new DelegatingClassLoader(Loaders.class.getClassLoader());
    private static final Map LOADERS = new HashMap();

    private Loaders() {
    }

    /** The loader of a location; that of the worker for null. */
    static synchronized ClassLoader of(String location, List jars) throws Exception {
        if (location == null) {
            return PARENT;
        }
        ClassLoader loader = (ClassLoader) LOADERS.get(location);
        if (loader == null) {
            URL[] urls = new URL[jars.size()];
            for (int i = 0; i < urls.length; i++) {
                urls[i] = new File((String) jars.get(i)).toURI().toURL();
            }
            loader = new PluginClassLoader(new File(location).toURI().toURL(), urls, PARENT);
            LOADERS.put(location, loader);
        }
        return loader;
    }

    static Object create(ClassLoader loader, String name) throws Throwable {
        Constructor constructor = Class.forName(name, true, loader).getDeclaredConstructor(new Class[0]);
        constructor.setAccessible(true);
        try {
            return constructor.newInstance(new Object[0]);
        } catch (InvocationTargetException wrapped) {
            throw wrapped.getCause();
        }
    }
}
