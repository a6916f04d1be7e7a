"""Starts the Java of a local session at once; `spark-submit` starts another Java first, only to print the command.

Java searches one jar after the other for each of some ten thousand classes: the jars that have most of them come first.
That of machine learning is left out, since its functions would be registered with every session.
Where anybody configured how Spark starts, with a version of PySpark whose launcher was not compared with this one, and
where Java does not come up so, `spark-submit` starts it as always.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

JARS_FIRST: Final = (
    "spark-catalyst_",
    "scala-library-",
    "spark-core_",
    "spark-sql_",
    "log4j-core-",
    "hadoop-client-api-",
    "jackson-databind-",
    "spark-config_",
    "spark-sql-api_",
    "janino-",
    "parquet-",
    "spark-network-common_",
    "netty-common-",
    "hadoop-client-runtime-",
    "netty-transport-4",
    "jackson-module-scala_",
    "log4j-api-",
    "jackson-core-",
    "spark-common-utils",
    "py4j-",
    "json4s-",
)
"""How the names of the jars begin that have most of the classes of a session, in this order."""
LEFT_OUT: Final = ("spark-mllib_",)
OPENED: Final = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
"""Packages of Java that Spark reads by reflection: those of `org.apache.spark.launcher.JavaModuleOptions`."""
FLAGS: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in OPENED),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)
GATEWAY: Final = "org.apache.spark.api.python.PythonGatewayServer"
CONFIGURED: Final = (
    "SPARK_HOME",
    "SPARK_CONF_DIR",
    "SPARK_DIST_CLASSPATH",
    "SPARK_DRIVER_MEMORY",
    "SPARK_LAUNCHER_OPTS",
    "SPARK_PREPEND_CLASSES",
    "SPARK_SUBMIT_OPTS",
    "SPARK_TESTING",
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_SUBMIT_ARGS",
    "HADOOP_CONF_DIR",
    "YARN_CONF_DIR",
)
"""Variables by which somebody says how Spark starts."""
COMPARED: Final = ("4.3.",)
"""How versions of PySpark begin whose jars, flags and gateway are those of this module."""
START_SECONDS: Final = 60.0
PORT_AND_SECRET: Final = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")


def starts_at_once(environ: Mapping[str, str], master: str = "local") -> bool:
    """Return whether Java may be started without `spark-submit`: for this machine, and nobody configured Spark."""
    usual = os.name == "posix" and "JAVA_HOME" in environ and not any(name in environ for name in CONFIGURED)
    local = master == "local" or master.startswith("local[")
    return usual and local and is_compared() and jars().is_dir() and not jars().with_name("conf").exists()


def is_compared() -> bool:
    """Return whether the PySpark of this installation is of a version whose launcher does what this module does."""
    return importlib.metadata.version("pyspark").startswith(COMPARED)


def jars() -> Path:
    """Return the folder of PySpark's jars, as it is where PySpark was installed by pip."""
    package = importlib.util.find_spec("pyspark")
    return Path(package.origin if package and package.origin else "").with_name("jars")


def class_path(folder: Path) -> str:
    """Return the jars of a folder in the order in which Java is to search them."""

    def place(name: str) -> tuple[int, str]:
        first = (number for number, prefix in enumerate(JARS_FIRST) if name.startswith(prefix))
        return next(first, len(JARS_FIRST)), name

    names = sorted((file.name for file in folder.glob("*.jar") if not file.name.startswith(LEFT_OUT)), key=place)
    return os.pathsep.join(str(folder / name) for name in names)


def java_command(java_home: str, memory: str, options: str) -> list[str]:
    """Return the command of a Java that waits for PySpark; `memory` as Java says it, `options` of Java with blanks."""
    java = str(Path(java_home, "bin", "java"))
    return [java, "-cp", class_path(jars()), f"-Xmx{memory}", *options.split(), *FLAGS, GATEWAY]


def start_gateway(command: list[str]) -> Any:
    """Start Java and return what PySpark speaks to it through. Raises `OSError` if it does not come up."""
    from pyspark.java_gateway import launch_gateway

    process, port_and_secret = _started(command)
    os.environ.update(zip(PORT_AND_SECRET, port_and_secret, strict=True))
    try:
        gateway = launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        for name in PORT_AND_SECRET:
            del os.environ[name]
    gateway.proc = process
    return gateway


def _started(command: list[str]) -> tuple[subprocess.Popen[bytes], tuple[str, str]]:
    """Return Java and where it listens, which it writes as: port and length of the secret (4 bytes each), secret."""
    folder = Path(tempfile.mkdtemp(prefix="wireproof-java-"))
    told = folder / "port"
    environment = {**os.environ, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told)}
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, preexec_fn=_without_interrupts)
        deadline = time.monotonic() + START_SECONDS
        while not told.is_file():
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                process.communicate()
                raise OSError("Java ended, or did not say in time where it listens")
            time.sleep(0.01)
        answer = told.read_bytes()
        return process, (str(int.from_bytes(answer[:4], "big")), answer[8:].decode())
    finally:
        shutil.rmtree(folder)


def _without_interrupts() -> None:
    """Ctrl-C is for Python, which ends Java in order; Java ends, too, when its input does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
