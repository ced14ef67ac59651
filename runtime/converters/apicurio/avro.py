"""Apicurio's AvroConverter. It needs fastavro: `pip install 'headrace[avro]'`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.converters.apicurio.converter import ApicurioConverter
from runtime.converters.apicurio.options import apicurio_options, id_size
from runtime.converters.apicurio.wire import ApicurioWire
from runtime.converters.avro.avro import OPTIONS, PACKAGE, AvroFormat
from runtime.converters.registry.options import installed


class ApicurioAvroConverter(ApicurioConverter):
    """Converts Connect's schemas to Avro's, as Confluent's converter does."""

    java_name = "io.apicurio.registry.utils.converter.AvroConverter"
    config_def = apicurio_options(installed(*PACKAGE), *OPTIONS)
    kind = "AVRO"

    def _made_format(self, parsed: Mapping[str, Any], is_key: bool) -> AvroFormat:
        return AvroFormat(parsed)

    def _made_wire(self, parsed: Mapping[str, Any], is_key: bool) -> ApicurioWire:
        return ApicurioWire(is_key, id_size(parsed), parsed["apicurio.registry.use-id"], "BINARY")
