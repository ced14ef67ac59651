"""Plugins of a worker: config provider, client config override policy and REST extension."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PROVIDER, POLICY, EXTENSION = "transcript.TellingProvider", "transcript.TellingPolicy", "transcript.TellingExtension"

SERVICES = {
    "org.apache.kafka.common.config.provider.ConfigProvider": PROVIDER,
    "org.apache.kafka.connect.connector.policy.ConnectorClientConfigOverridePolicy": POLICY,
    "org.apache.kafka.connect.rest.ConnectRestExtension": EXTENSION,
}

SOURCES = {
    "TellingProvider": """
/** Values are path and key in capitals. The path "fails" fails, and has no key "none". */
public class TellingProvider implements org.apache.kafka.common.config.provider.ConfigProvider, Monitorable {
    private final Transcript out = new Transcript("provider");

    public void configure(Map configs) {
        out.open(configs);
        out.surroundings(this);
        out.tell("configure " + new TreeMap(configs).keySet());
    }
    public void withPluginMetrics(PluginMetrics metrics) { out.metrics(metrics); }
    public ConfigData get(String path) {
        out.tell("get " + path);
        return new ConfigData(new HashMap());
    }
    public ConfigData get(String path, Set keys) {
        out.tell("get " + path + " " + new TreeSet(keys));
        if (path.equals("fails")) {
            throw new IllegalStateException("no such path");
        }
        Map found = new HashMap();
        for (Iterator all = keys.iterator(); all.hasNext();) {
            String key = (String) all.next();
            if (!key.equals("none")) {
                found.put(key, (path + "-" + key).toUpperCase());
            }
        }
        return new ConfigData(found);
    }
    public void close() { out.tell("close"); }
}
""",
    "TellingPolicy": """
import org.apache.kafka.connect.connector.policy.*;

/** Refuses client.id, twice, and every client of a connector with a client.id "none". */
public class TellingPolicy implements ConnectorClientConfigOverridePolicy, Monitorable {
    private final Transcript out = new Transcript("policy");

    public void configure(Map configs) {
        out.open(Collections.singletonMap("transcript", configs.get("policy.transcript")));
        out.surroundings(this);
        out.tell("configure " + configs.get("policy.transcript").getClass().getName());
    }
    public void withPluginMetrics(PluginMetrics metrics) { out.metrics(metrics); }
    public List validate(ConnectorClientConfigRequest request) {
        List found = new ArrayList();
        StringBuffer text = new StringBuffer();
        for (Iterator all = new TreeMap(request.clientProps()).entrySet().iterator(); all.hasNext();) {
            Map.Entry entry = (Map.Entry) all.next();
            text.append(" " + entry.getKey() + "=" + entry.getValue().getClass().getSimpleName() + " "
                + entry.getValue());
            ConfigValue value = new ConfigValue((String) entry.getKey(), entry.getValue(), new ArrayList(),
                new ArrayList());
            if (entry.getKey().equals("client.id")) {
                value.addErrorMessage("refused");
                value.addErrorMessage("refused again");
            }
            found.add(value);
        }
        if (request.clientProps().isEmpty() && "demanding".equals(request.connectorName())) {
            ConfigValue missing = new ConfigValue("linger.ms");
            missing.addErrorMessage("missing");
            found.add(missing);
        }
        out.tell("validate " + request.connectorName() + " " + request.connectorType() + " " + request.clientType()
            + " " + (request.connectorClass() == null ? null : request.connectorClass().getName()) + text);
        return found;
    }
    public void close() { out.tell("close"); }
}
""",
    "TellingExtension": """
import org.apache.kafka.connect.rest.*;

/** Adds a header to each response. */
public class TellingExtension implements ConnectRestExtension, Monitorable {
    private final Transcript out = new Transcript("extension");

    public String version() { return "1.5"; }
    public void configure(Map configs) {
        out.open(Collections.singletonMap("transcript", configs.get("extension.transcript")));
        out.surroundings(this);
        out.tell("configure");
    }
    public void withPluginMetrics(PluginMetrics metrics) { out.metrics(metrics); }
    public void register(final ConnectRestExtensionContext context) {
        out.tell("register " + (context.clusterState() != null) + " " + (context.configurable() != null));
        context.configurable().register(new jakarta.ws.rs.container.ContainerResponseFilter() {
            public void filter(jakarta.ws.rs.container.ContainerRequestContext request,
                    jakarta.ws.rs.container.ContainerResponseContext response) {
                response.getHeaders().add("X-Telling", String.valueOf(context.clusterState().connectors()));
            }
        });
    }
    public void close() { out.tell("close"); }
}
""",
}


def worker_plugins(file: Path, extension: bool = False) -> Mapping[str, str]:
    """Worker properties with the plugins, which write to this file."""
    properties = {
        "config.providers": "telling",
        "config.providers.telling.class": PROVIDER,
        "config.providers.telling.param.transcript": str(file),
        "connector.client.config.override.policy": POLICY,
        "policy.transcript": str(file),
    }
    extensions = {"rest.extension.classes": EXTENSION, "extension.transcript": str(file)}
    return {**properties, **(extensions if extension else {})}
