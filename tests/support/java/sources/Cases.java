package edge;

import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.config.ConfigData;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.provider.ConfigProvider;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.runtime.HerderConnectorContext;
import org.apache.kafka.connect.storage.StringConverter;
import org.apache.kafka.connect.transforms.InsertField;
import org.apache.kafka.connect.transforms.RegexRouter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.util.ConnectorTaskId;

/** Classes at the limits of what is a plugin, and ways to write version(). */
public class Cases {
    public abstract static class Base implements Transformation {
        public ConnectRecord apply(ConnectRecord record) { return record; }
        public void configure(Map configs) { }
        public void close() { }
        public ConfigDef config() { return new ConfigDef(); }
    }

    public static class Plain extends Base { }
    static class PackagePrivate extends Base { public PackagePrivate() { } }
    public static class NoDefault extends Base { public NoDefault(int number) { } }
    public static class PrivateConstructor extends Base { private PrivateConstructor() { } }
    public class Inner extends Base { }
    public static class WithoutInterface extends Base implements Gone { }

    public static class Constant extends Base {
        static final String VERSION = "1.2.3";
        public String version() { return VERSION; }
    }
    public static class Null extends Base { public String version() { return null; } }
    public static class Called extends Base { public String version() { return Version.text(); } }
    public static class CallsSuper extends Called { public String version() { return super.version(); } }
    public static class CallsMethod extends Base {
        public String version() { return text(); }
        public String text() { return "base"; }
    }
    public static class OverridesMethod extends CallsMethod { public String text() { return "sub"; } }
    public static class OfManifest extends Base {
        public String version() { return OfManifest.class.getPackage().getImplementationVersion(); }
    }

    public static class UsesHerder extends Base { public Object herder() { return Reach.herder(); } }
    public static class UsesContext extends Base {
        public Object consumer(Object context) throws Exception {
            Class type = Class.forName("org.apache.kafka.connect.runtime.WorkerSinkTaskContext");
            return type.getDeclaredField("consumer").get(context);
        }
    }

    public static class ExtendsRouter extends RegexRouter { }
    public static class ExtendsValue extends InsertField.Value { }
    public static class ExtendsConverter extends StringConverter { }

    public static class Declared implements ConfigProvider {
        public ConfigData get(String path) { return null; }
        public ConfigData get(String path, Set keys) { return null; }
        public void configure(Map configs) { }
        public void close() { }
    }
    public static class Undeclared extends Declared { }
}

class Reach {
    static Object herder() { return ((HerderConnectorContext) (Object) null).toString() + new ConnectorTaskId("c", 0); }
}

class Version {
    static String text() { return "2.0"; }
}
