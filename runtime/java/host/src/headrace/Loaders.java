package headrace;

import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import org.apache.kafka.connect.runtime.isolation.DelegatingClassLoader;
import org.apache.kafka.connect.runtime.isolation.PluginClassLoader;
import org.apache.kafka.connect.runtime.isolation.PluginUtils;

/**
 * One class loader for each location of plugins, as in Connect: its jars come before those of the worker. Their parent
 * finds the plugins of all locations by name and alias. Locations are opened when a class in them is needed first.
 */
final class Loaders extends DelegatingClassLoader {
    private static final Loaders PARENT = new Loaders(Loaders.class.getClassLoader());
    private static final Map LOADERS = new HashMap();
    private static final Set SEARCHED = new HashSet(); // loaders whose drivers have been registered
    private static volatile Map names = new HashMap(); // names and aliases of plugins to [class, location]
    private static volatile Map jars = new HashMap(); // by location

    static {
        ClassLoader.registerAsParallelCapable();
    }

    private Loaders(ClassLoader worker) {
        super(worker);
    }

    /** The plugins of all locations: [class, location] by name and alias, and the jars of each location. */
    static void plugins(Map found, Map jarsOf) {
        jars = jarsOf;
        names = found;
    }

    /** The loader of a location; that of the worker for null. */
    static ClassLoader of(String location, List files) throws java.io.IOException {
        if (location == null) {
            return PARENT;
        }
        synchronized (LOADERS) {
            ClassLoader loader = (ClassLoader) LOADERS.get(location);
            if (loader == null) {
                URL[] urls = new URL[files.size()];
                for (int i = 0; i < urls.length; i++) {
                    urls[i] = new File((String) files.get(i)).toURI().toURL();
                }
                loader = new PluginClassLoader(new File(location).toURI().toURL(), urls, PARENT);
                LOADERS.put(location, loader);
            }
            return loader;
        }
    }

    /**
     * Registers the JDBC drivers of a location, as Connect does: java.sql.DriverManager itself looks for drivers only
     * once, in the location that uses it first.
     */
    static synchronized void registerDrivers(ClassLoader loader) {
        if (loader == PARENT || !SEARCHED.add(loader)) {
            return;
        }
        try {
            Iterator drivers = ServiceLoader.load(java.sql.Driver.class, loader).iterator();
            while (drivers.hasNext()) {
                drivers.next(); // registers itself
            }
        } catch (Throwable incomplete) {
            Log.emit("DEBUG", "headrace.Loaders", "Not all JDBC drivers could be registered", incomplete);
        }
    }

    protected Class loadClass(String name, boolean resolve) throws ClassNotFoundException {
        List plugin = (List) names.get(name);
        if (plugin == null) {
            return super.loadClass(name, resolve);
        }
        String full = (String) plugin.get(0);
        String location = (String) plugin.get(1);
        // Classes of Kafka that a location does not isolate come from the worker, then from the location that asks.
        if (location == null || !PluginUtils.shouldLoadInIsolation(full)) {
            return super.loadClass(full, resolve);
        }
        URLClassLoader loader;
        try {
            loader = (URLClassLoader) of(location, (List) jars.get(location));
        } catch (java.io.IOException unreadable) {
            throw new ClassNotFoundException(full, unreadable);
        }
        // A location whose jars have changed may lack the class, and would ask this loader again.
        return loader.findResource(full.replace('.', '/') + ".class") == null ? super.loadClass(full, resolve)
            : loader.loadClass(full);
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
