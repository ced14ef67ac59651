"""A program that serves a REST catalog of Iceberg on loopback: the reference server of Iceberg's own tests.

Arguments: a folder for tables. Prints the port, and ends with its standard input.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

from runtime.engine.driver.class_path import spark_jars
from runtime.java.install.coordinate import Coordinate
from runtime.java.install.resolver import Repositories, resolve
from runtime.java.jvm.java import find_java

_PACKAGES = (
    "org.apache.iceberg:iceberg-core:1.10.1:tests",
    "org.apache.iceberg:iceberg-core:1.10.1",
    "org.eclipse.jetty:jetty-servlet:11.0.25",
    "org.xerial:sqlite-jdbc:3.50.3.0",
)


def main() -> None:
    folder = Path(sys.argv[1])
    jvm = _gateway()
    catalog = jvm.org.apache.iceberg.jdbc.JdbcCatalog()
    catalog.setConf(jvm.org.apache.hadoop.conf.Configuration())
    properties = {"uri": f"jdbc:sqlite:{folder / 'catalog.db'}", "warehouse": str(folder), "jdbc.schema-version": "V1"}
    catalog.initialize("lake", properties)
    jetty = jvm.org.eclipse.jetty
    adapter = jvm.org.apache.iceberg.rest.RESTCatalogAdapter(catalog)
    servlet = jetty.servlet.ServletHolder(jvm.org.apache.iceberg.rest.RESTCatalogServlet(adapter))
    handler = jetty.servlet.ServletContextHandler()
    handler.addServlet(servlet, "/*")
    server = jetty.server.Server(jvm.java.net.InetSocketAddress("127.0.0.1", 0))
    server.setHandler(handler)
    server.start()
    print("PORT", server.getURI().getPort(), flush=True)
    sys.stdin.read()


def _gateway() -> Any:
    """Of a JVM that ends with this process, with the jars of the packages before those of Spark."""
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    jars: dict[str, Path] = {}
    for package in _PACKAGES:
        for jar in resolve(Coordinate.parse(package), Repositories(), io.StringIO()):
            jars.setdefault(jar.name, jar)
    java = find_java()
    assert java is not None
    path = os.pathsep.join(map(str, [*jars.values(), *spark_jars()]))
    port, token = launch_gateway(classpath=path, java_path=str(java.program), die_on_exit=True, enable_auth=True)
    return JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True)).jvm


if __name__ == "__main__":
    main()
