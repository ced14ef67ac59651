"""A Kerberos realm with a real KDC (MIT's krb5kdc, of Debian's packages krb5-kdc and krb5-user)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

from runtime.embedded.processes import ports
from runtime.embedded.processes.process import spawn
from tests.support.free_ports import free_port
from tests.support.waiting import wait_until

REALM = "HEADRACE.TEST"
_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"

_CLIENT = """\
[libdefaults]
    default_realm = {realm}
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
    ticket_lifetime = {lifetime}
[realms]
    {realm} = {{
        kdc = {address}
    }}
"""
_SERVER = """\
[kdcdefaults]
    kdc_listen = {address}
    kdc_tcp_listen = {address}
[realms]
    {realm} = {{
        database_name = {folder}/principal
        key_stash_file = {folder}/stash
        acl_file = {folder}/acl
        max_life = {lifetime}
    }}
"""


def missing() -> str:
    """What this machine lacks for a KDC; empty if nothing."""
    absent = [program for program in _PROGRAMS if which(program, path=_PATH) is None]
    return f"{', '.join(absent)}: install krb5-kdc, krb5-admin-server and krb5-user" if absent else ""


class Kdc:
    """The realm REALM with its principals, whose tickets are valid for `lifetime` seconds."""

    def __init__(self, folder: Path, lifetime: int) -> None:
        self._folder, self._lifetime = folder, lifetime
        self.address = f"{ports.HOST}:{free_port()}"
        self.config = folder / "krb5.conf"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which processes use this realm."""
        return {"KRB5_CONFIG": str(self.config), "KRB5_KDC_PROFILE": str(self._folder / "kdc.conf")}

    def create(self) -> None:
        """Writes the configuration and an empty database."""
        self._folder.mkdir(parents=True, exist_ok=True)
        names = {"realm": REALM, "address": self.address, "folder": self._folder, "lifetime": f"{self._lifetime}s"}
        self.config.write_text(_CLIENT.format(**names))
        (self._folder / "kdc.conf").write_text(_SERVER.format(**names))
        self._run("kdb5_util", "-r", REALM, "-P", "master", "create", "-s")

    def start(self) -> None:
        command = [str(which("krb5kdc", path=_PATH)), "-n", "-r", REALM]
        self._process = spawn(command, self._folder / "kdc.log", {**os.environ, **self.environment})
        port = int(self.address.rpartition(":")[2])
        wait_until(lambda: ports.is_open(port), 30, f"the KDC at {self.address}")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def keytab(self, principal: str) -> Path:
        """Adds a principal; returns its key table."""
        file = self._folder / f"{principal.replace('/', '-')}.keytab"
        self._run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {principal}")
        self._run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {file} {principal}")
        return file

    def kinit(self, principal: str, keytab: Path, cache: Path) -> None:
        """Fills a ticket cache."""
        self._run("kinit", "-k", "-t", str(keytab), "-c", f"FILE:{cache}", principal)

    def _run(self, program: str, *words: str) -> None:
        command = [str(which(program, path=_PATH)), *words]
        done = subprocess.run(command, env={**os.environ, **self.environment}, capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"


@contextmanager
def kdc(folder: Path, lifetime: int = 600) -> Iterator[Kdc]:
    """A realm whose KDC runs."""
    realm = Kdc(folder, lifetime)
    realm.create()
    realm.start()
    try:
        yield realm
    finally:
        realm.stop()
