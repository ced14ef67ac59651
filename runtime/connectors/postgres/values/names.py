"""The names of Debezium's semantic types."""

DATE, TIME, MICRO_TIME = "io.debezium.time.Date", "io.debezium.time.Time", "io.debezium.time.MicroTime"
ZONED_TIME, ZONED_TIMESTAMP = "io.debezium.time.ZonedTime", "io.debezium.time.ZonedTimestamp"
TIMESTAMP, MICRO_TIMESTAMP = "io.debezium.time.Timestamp", "io.debezium.time.MicroTimestamp"
MICRO_DURATION, INTERVAL = "io.debezium.time.MicroDuration", "io.debezium.time.Interval"
VARIABLE_DECIMAL, BITS, ENUM = "io.debezium.data.VariableScaleDecimal", "io.debezium.data.Bits", "io.debezium.data.Enum"
JSON, XML, UUID, LTREE = (f"io.debezium.data.{name}" for name in ("Json", "Xml", "Uuid", "Ltree"))
POINT = "io.debezium.data.geometry.Point"
