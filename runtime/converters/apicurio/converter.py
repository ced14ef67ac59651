"""The base of Apicurio's converters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from runtime.converters.apicurio.client import ApicurioClient
from runtime.converters.apicurio.options import artifacts, http_client
from runtime.converters.registry.converter import RegistryConverter, RegistrySetup
from runtime.converters.registry.formats import Format
from runtime.converters.registry.wire import WireFormat


class ApicurioConverter(RegistryConverter):
    """A converter with Apicurio's registry and options (apicurio_options())."""

    kind: str
    """The type of its artifacts."""

    def _configured(self, given: Mapping[str, str], parsed: Mapping[str, Any], is_key: bool) -> RegistrySetup:
        form, http = self._made_format(parsed, is_key), http_client(given, parsed)
        register = parsed["apicurio.registry.auto-register"]
        in_headers = parsed["apicurio.registry.headers.enabled"] and self._has_headers()
        return RegistrySetup(
            form,
            self._made_wire(parsed, is_key),
            ApicurioClient(
                http, self.kind, parsed["apicurio.registry.auto-register.if-exists"], parsed["apicurio.registry.use-id"]
            ),
            artifacts(parsed, "key" if is_key else "value"),
            http.close,
            register=register,
            latest=parsed["apicurio.registry.find-latest"] and not register,
            in_headers=in_headers,
            dual=in_headers,
        )

    def _has_headers(self) -> bool:
        """Whether ids may be in headers."""
        return True

    @abstractmethod
    def _made_format(self, parsed: Mapping[str, Any], is_key: bool) -> Format:
        """The format, configured."""

    @abstractmethod
    def _made_wire(self, parsed: Mapping[str, Any], is_key: bool) -> WireFormat:
        """The wire format."""
