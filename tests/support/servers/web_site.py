"""A web site with one page, and a real headless browser that visits it: Debian's chromium."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from tests.support.packages.debian import PackageMissing, installed, skip_unless_ci
from tests.support.servers.loopback import Handler, LoopbackServer

_PAGE = """<!doctype html><title>site</title><body><script>
(async () => {{
  const found = {{}};
  const attempt = async (name, act) => {{
    try {{ found[name] = await act(); }} catch (error) {{ found[name] = "refused: " + error.name; }}
  }};
  {script}
  await fetch("/report", {{method: "POST", body: JSON.stringify(found)}});
}})();
</script></body>"""


class WebSite(LoopbackServer):
    """Serves a page with this script at any path. The script calls `await attempt(NAME, ACT)`; the results are reported
    to the site when it ends."""

    def __init__(self, script: str) -> None:
        site, page = self, _PAGE.format(script=script).encode()
        self.report: dict[str, Any] = {}
        self.reported = threading.Event()

        class Answers(Handler):
            def do_GET(self) -> None:
                self.respond(200, page, "text/html")

            def do_POST(self) -> None:
                site.report = json.loads(self.body())
                self.respond(200, kind="text/html")
                site.reported.set()

        super().__init__(Answers)


def visit(site: WebSite, host: str) -> dict[str, Any]:
    """What the page reports when the browser visits the site under this host name, which the browser resolves to
    loopback like every other name. Skips the test where chromium cannot be installed."""
    with closing(site), _browser(f"http://{host}:{site.port}/"):
        assert site.reported.wait(60), "the page did not report"
    return site.report


def shown(url: str) -> str:
    """The text of a page that the browser shows for this URL."""
    with _command("--dump-dom", url) as command:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


@contextmanager
def _browser(url: str) -> Iterator[None]:
    with _command("--remote-debugging-port=0", url) as command:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


@contextmanager
def _command(*arguments: str) -> Iterator[list[str]]:
    """The command line, with a profile that is removed afterwards."""
    try:
        chromium = installed(lambda: shutil.which("chromium"), "chromium")
    except PackageMissing as missing:
        skip_unless_ci(missing)
        raise
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"]
    resolving = "--host-resolver-rules=MAP * 127.0.0.1"
    with tempfile.TemporaryDirectory(prefix="headrace-browser-", ignore_cleanup_errors=True) as profile:
        yield [chromium, *options, resolving, f"--user-data-dir={profile}", *arguments]
