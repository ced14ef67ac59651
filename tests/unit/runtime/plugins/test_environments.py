"""Plugin environments: ids by content, archives, and processes that start from either."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from runtime.model.environment import Environment
from runtime.plugins.environments import archive, prepare
from tests.support.packages.wheels import build_wheel


def _environment(folder: Path, version: str = "1.0") -> Path:
    build_wheel(folder, "hr_lib", version, {"hr_lib/__init__.py": f"VERSION = '{version}'\n"})
    return folder


def test_the_id_follows_the_content(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    one = prepare(_environment(tmp_path / "a" / "lib"), cache)
    same = prepare(_environment(tmp_path / "b" / "lib"), cache)
    other = prepare(_environment(tmp_path / "c" / "lib", "2.0"), cache)
    assert (one.id == same.id, one.id == other.id) == (_same_time(tmp_path), False)


def _same_time(tmp_path: Path) -> bool:
    """Zip files contain times, in steps of two seconds."""
    wheels = [tmp_path / part / "lib" / "hr_lib-1.0-py3-none-any.whl" for part in "ab"]
    return wheels[0].read_bytes() == wheels[1].read_bytes()


def test_equal_contents_give_equal_archives(tmp_path: Path) -> None:
    environment = prepare(_environment(tmp_path / "lib"), tmp_path / "cache")
    first = archive(environment, tmp_path / "one").read_bytes()
    (unpacked,) = environment.folders
    subprocess.run([sys.executable, "-m", "compileall", "-q", unpacked], check=True)
    for file in Path(unpacked).rglob("*"):
        os.utime(file, (1, 1_500_000_000))
    assert archive(environment, tmp_path / "two").read_bytes() == first


CODE = """
import sys
from runtime.model.environment import Environment
from runtime.plugins.activation import enter
enter(Environment({id!r}, {folders!r}, {archive!r}))
import hr_lib
print(hr_lib.VERSION, hr_lib.__file__)
"""


def _entered(environment: Environment, cache: Path) -> list[str]:
    code = CODE.format(id=environment.id, folders=environment.folders, archive=environment.archive)
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, env=env)
    return done.stdout.split()


def test_a_process_starts_from_the_folders_or_from_the_archive(tmp_path: Path) -> None:
    environment = prepare(_environment(tmp_path / "lib"), tmp_path / "cache")
    assert _entered(environment, tmp_path / "unused")[0] == "1.0"
    file = archive(environment, tmp_path / "archives")
    shutil.rmtree(tmp_path / "cache")
    version, path = _entered(Environment(environment.id, environment.folders, str(file)), tmp_path / "elsewhere")
    assert version == "1.0" and path.startswith(str(tmp_path / "elsewhere"))


def test_a_process_has_one_environment(tmp_path: Path) -> None:
    one = prepare(_environment(tmp_path / "one"), tmp_path / "cache")
    two = prepare(_environment(tmp_path / "two", "2.0"), tmp_path / "cache")
    code = f"""
from runtime.model.environment import Environment
from runtime.plugins.activation import enter
enter(Environment({one.id!r}, {one.folders!r}))
enter(Environment({one.id!r}, {one.folders!r}))
enter(Environment({two.id!r}, {two.folders!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"runs plugins of the environment {one.id}, not of {two.id}" in done.stderr
