"""The configuration of a file system, common to FilesSink and FilesSource."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from runtime.api.config.definition import ConfigKey, ConfigType, Importance, Width
from runtime.api.config.types import Password, invalid
from runtime.api.errors import ConfigError
from runtime.connectors.config_keys import grouped_key

URL, FSSPEC_OPTIONS = "url", "fsspec.options"
MISSING = "The files connectors need pyarrow, which is not installed: pip install 'headrace[runtime]'"
_GROUP = "File system"
_SCHEMES = {"file": "local", "s3": "s3", "gs": "gcs", "gcs": "gcs", "abfs": "azure", "abfss": "azure"}


def _location(name: str, value: Any) -> None:
    if find_spec("pyarrow") is None:
        raise ConfigError(MISSING)
    if value is None:
        return  # already reported as missing
    parts = urlsplit(str(value))
    if "@" in parts.netloc:
        raise ConfigError(
            f"Invalid value for configuration {name}: set credentials in keys of their own, not in the URL"
        )
    if parts.scheme in ("", "file") and not parts.path.startswith("/"):
        raise invalid(name, value, "A folder on disk must be an absolute path")
    if parts.scheme not in ("", "file") and not parts.netloc:
        raise invalid(name, value, f"Name a bucket: {parts.scheme}://bucket/folder")


def _json_object(name: str, value: Any) -> None:
    if value is None or not value.value:
        return
    try:
        found = json.loads(value.value)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ConfigError(f"Invalid value for configuration {name}: must be a JSON object")


def _key(name: str, kind: ConfigType, doc: str, order: int, **more: Any) -> ConfigKey:
    return grouped_key(name, kind, more.pop("default", None), doc, _GROUP, order, width=Width.MEDIUM, **more)


def location_keys(doc: str) -> tuple[ConfigKey, ...]:
    """The keys of a file system; `doc` documents `url`."""
    return (
        ConfigKey(
            URL,
            ConfigType.STRING,
            importance=Importance.HIGH,
            doc=doc,
            validator=_location,
            group=_GROUP,
            order_in_group=0,
            width=Width.LONG,
        ),
        _key("s3.region", ConfigType.STRING, "Region of the bucket. Without it, the region is looked up.", 1),
        _key("s3.endpoint", ConfigType.STRING, "URL of a service that is compatible with S3.", 2),
        _key("s3.access.key.id", ConfigType.STRING, "Access key. Without it, the standard credentials of the AWS SDK "
             "apply: environment, profile, role.", 3),
        _key("s3.secret.access.key", ConfigType.PASSWORD, "Secret of the access key.", 4),
        _key("s3.session.token", ConfigType.PASSWORD, "Token of temporary credentials.", 5),
        _key("s3.role.arn", ConfigType.STRING, "Role to assume.", 6),
        _key("gcs.anonymous", ConfigType.BOOLEAN, "Whether to use a Google Cloud Storage bucket without credentials. "
             "Otherwise the application default credentials apply.", 7, default=False),
        _key("gcs.endpoint", ConfigType.STRING, "Host and port of a service that is compatible with Google Cloud "
             "Storage.", 8, importance=Importance.LOW),
        _key("azure.account.name", ConfigType.STRING, "Account of Azure Blob Storage; required for abfs:// URLs.", 9),
        _key("azure.account.key", ConfigType.PASSWORD, "Key of the account. Without it, the default credentials of "
             "the Azure SDK apply.", 10),
        _key("azure.sas.token", ConfigType.PASSWORD, "Shared access signature, instead of the key.", 11),
        _key(FSSPEC_OPTIONS, ConfigType.PASSWORD, "Arguments, as a JSON object, of the fsspec file system for "
             "any other scheme of `url`, such as sftp://.", 12, importance=Importance.LOW, validator=_json_object),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileLocation:
    """A folder on a file system. `kind` is `local`, `s3`, `gcs`, `azure`, or the name of an fsspec protocol."""

    url: str
    kind: str
    folder: str  # path within the file system, without a slash at its end
    options: Mapping[str, Any]

    @classmethod
    def of(cls, parsed: Mapping[str, Any], key: str = URL) -> FileLocation:
        """The location in a parsed configuration; `key` is the key of its URL."""
        url = str(parsed[key]).rstrip("/")
        parts = urlsplit(url)
        kind = _SCHEMES.get(parts.scheme or "file", parts.scheme)
        folder = parts.path if kind == "local" else f"{parts.netloc.partition('@')[0]}{parts.path}"
        if kind not in _SCHEMES.values():
            folder = parts.path or "/"
        prefix = {"s3": "s3.", "gcs": "gcs.", "azure": "azure."}.get(kind, "fsspec.")
        options = {name: _plain(value) for name, value in parsed.items() if name.startswith(prefix) and value}
        return cls(url, kind, folder.rstrip("/") or "/", options)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Password) else value
