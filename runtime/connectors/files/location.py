"""The configuration of a file system, common to FilesSink and FilesSource."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from runtime.api.config.definition import ConfigKey, ConfigType, Importance, Width, grouped
from runtime.api.config.types import Password, invalid
from runtime.api.errors import ConfigError

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
        options = json.loads(value.value)
    except ValueError:
        options = None
    if not isinstance(options, dict):
        raise ConfigError(f"Invalid value for configuration {name}: must be a JSON object")


def location_keys(doc: str) -> tuple[ConfigKey, ...]:
    """The keys of a file system; `doc` documents `url`."""
    return (
        *grouped(_GROUP, 0,
            ConfigKey(URL, ConfigType.STRING, importance=Importance.HIGH, doc=doc, validator=_location,
                 width=Width.LONG),
            ConfigKey("s3.region", ConfigType.STRING, None, Importance.MEDIUM, "Region of the bucket. Without it, the "
                 "region is looked up.", width=Width.MEDIUM),
            ConfigKey("s3.endpoint", ConfigType.STRING, None, Importance.MEDIUM, "URL of a service that is compatible "
                 "with S3.", width=Width.MEDIUM),
            ConfigKey("s3.access.key.id", ConfigType.STRING, None, Importance.MEDIUM, "Access key. Without it, the "
                 "standard credentials of the AWS SDK apply: environment, profile, role.", width=Width.MEDIUM),
            ConfigKey("s3.secret.access.key", ConfigType.PASSWORD, None, Importance.MEDIUM, "Secret of the access key.",
                 width=Width.MEDIUM),
            ConfigKey("s3.session.token", ConfigType.PASSWORD, None, Importance.MEDIUM,
                 "Token of temporary credentials.", width=Width.MEDIUM),
            ConfigKey("s3.role.arn", ConfigType.STRING, None, Importance.MEDIUM, "Role to assume.", width=Width.MEDIUM),
            ConfigKey("gcs.anonymous", ConfigType.BOOLEAN, False, Importance.MEDIUM, "Whether to use a Google Cloud "
                 "Storage bucket without credentials. Otherwise the application default credentials apply.",
                 width=Width.MEDIUM),
            ConfigKey("gcs.endpoint", ConfigType.STRING, None, Importance.LOW, "Host and port of a service that is "
                 "compatible with Google Cloud Storage.", width=Width.MEDIUM),
            ConfigKey("azure.account.name", ConfigType.STRING, None, Importance.MEDIUM,
                 "Account of Azure Blob Storage; required for abfs:// URLs.", width=Width.MEDIUM),
            ConfigKey("azure.account.key", ConfigType.PASSWORD, None, Importance.MEDIUM, "Key of the account. Without "
                 "it, the default credentials of the Azure SDK apply.", width=Width.MEDIUM),
            ConfigKey("azure.sas.token", ConfigType.PASSWORD, None, Importance.MEDIUM, "Shared access signature, "
                 "instead of the key.", width=Width.MEDIUM),
            ConfigKey(FSSPEC_OPTIONS, ConfigType.PASSWORD, None, Importance.LOW, "Arguments, as a JSON object, of the "
                 "fsspec file system for any other scheme of `url`, such as sftp://.", _json_object,
                 width=Width.MEDIUM),
        ),
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
