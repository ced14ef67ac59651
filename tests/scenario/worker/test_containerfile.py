"""The steps of the Containerfile in a root file system of Debian, and the worker of that image by its own commands.

The file system stands for the base image; this needs neither a registry of images nor a program that builds them.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON
from tests.support.free_ports import free_port
from tests.support.packages.debian import PackageMissing, installed, skip_unless_ci
from tests.support.packages.installed_wheel import REPOSITORY, build
from tests.support.waiting import wait_until
from tests.support.workers import storage_topics, write_properties

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

CONTAINERFILE = REPOSITORY / "docs" / "ops" / "Containerfile"
BASE = "python:3.11-slim-bookworm"
_PACKAGES = "ca-certificates,python3,python3-pip,python3-venv"
_NETWORK = ("/etc/pip.conf", "/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt")
_MOUNTS = 'mount --bind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot "$@"'


class Image:
    """A root file system, and what the instructions have set."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.user, self.folder = "0", "/"
        self.entry_point: list[str] = []
        self.command: list[str] = []
        self.health: list[str] = []

    def follow(self, instruction: str, rest: str, context: Path) -> None:
        """One instruction of the Containerfile."""
        match instruction:
            case "RUN":
                self.run(["/bin/sh", "-c", rest], timeout=1200)
            case "COPY":
                *sources, target = shlex.split(rest)
                for source in sources:
                    for file in context.glob(source):
                        shutil.copy(file, self.root / target.strip("/"))
            case "ENV":
                for pair in shlex.split(rest):
                    name, _, value = pair.partition("=")
                    self.environment[name] = value
            case "USER":
                self.user = rest
            case "WORKDIR":
                self.folder = rest
            case "ENTRYPOINT":
                self.entry_point = json.loads(rest)
            case "CMD":
                self.command = json.loads(rest)
            case "HEALTHCHECK":
                self.health = json.loads(rest.partition("CMD ")[2])
            case "FROM":
                assert rest == BASE
            case _:
                assert instruction == "EXPOSE", f"{instruction} is not known here"

    def arguments(self, command: list[str]) -> list[str]:
        """The arguments of a process of this machine that runs the command in the file system."""
        inner = [f"--userspec={self.user}:{self.user}", str(self.root), "/usr/bin/env", "-i", f"--chdir={self.folder}"]
        variables = [f"{name}={value}" for name, value in {**_pip(), **self.environment}.items()]
        return ["unshare", "--mount", "/bin/sh", "-c", _MOUNTS, str(self.root), *inner, *variables, *command]

    def run(self, command: list[str], timeout: float) -> None:
        done = subprocess.run(
            self.arguments(command), capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"

    def is_healthy(self, port: int) -> bool:
        check = [part.replace(":8083", f":{port}") for part in self.health]
        return subprocess.run(self.arguments(check), capture_output=True, timeout=30).returncode == 0


def _pip() -> Mapping[str, str]:
    """How pip of this machine reaches its packages."""
    options = {key: value for key, value in os.environ.items() if key.startswith("PIP_")}
    return {**options, "PIP_BREAK_SYSTEM_PACKAGES": "1", "PIP_CERT": _NETWORK[-1], "HOME": "/root"}


def _instructions() -> Iterator[tuple[str, str]]:
    lines = [line for line in CONTAINERFILE.read_text().splitlines() if line and not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        instruction, _, rest = line.partition(" ")
        yield instruction, rest.strip()


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    folder = tmp_path_factory.mktemp("image")
    try:
        debootstrap = installed(lambda: shutil.which("debootstrap", path="/usr/sbin:/usr/bin"), "debootstrap")
    except PackageMissing as missing:
        skip_unless_ci(missing)
    root, context = folder / "root", folder / "context"
    base = [debootstrap, "--variant=minbase", f"--include={_PACKAGES}", "bookworm", str(root)]
    subprocess.run(base, check=True, capture_output=True, timeout=900)
    for name in filter(os.path.exists, _NETWORK):
        shutil.copy(name, root / name.strip("/"))
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    (context / "dist").mkdir(parents=True)
    (context / ".ci").mkdir()
    build(context / "dist")
    shutil.copy(REPOSITORY / ".ci" / "constraints.txt", context / ".ci")
    made = Image(root)
    for instruction, rest in _instructions():
        made.follow(instruction, rest, context)
    return made


def test_the_worker_of_the_image_becomes_healthy_and_ends_in_time(image: Image, broker: KafkaBroker) -> None:
    assert image.user == "10001", "a number, by which Kubernetes sees that it is not root"
    group, port = unique("container"), free_port()
    write_properties(image.root / "etc/headrace/worker.properties", {
        "bootstrap.servers": broker.bootstrap, "group.id": group, "key.converter": JSON, "value.converter": JSON,
        "listeners": f"http://127.0.0.1:{port}", **storage_topics(group),
    })  # fmt: skip
    log = image.root / "worker.log"
    with log.open("wb") as output:
        worker = subprocess.Popen(
            image.arguments([*image.entry_point, *image.command]),
            stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    try:
        assert not image.is_healthy(port)
        wait_until(lambda: worker.poll() is not None or image.is_healthy(port), 120, "a healthy worker", every=1.0)
        assert worker.poll() is None, log.read_text()
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0, log.read_text()
    finally:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
