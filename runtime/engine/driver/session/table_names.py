"""Names of tables and columns in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.engine.driver.session.plans import items


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    return "`{}`".format(name.replace("`", "``"))


def identifier(parts: Sequence[str]) -> str:
    """A name with several parts in SQL."""
    return ".".join(map(quoted, parts))


def name_parts(session: Any, name: str) -> list[str]:
    """The parts of a table's name, such as catalog, namespace and table; ParseException if it is anything else."""
    parser = session._jsparkSession.sessionState().sqlParser()
    return [str(part) for part in items(parser.parseMultipartIdentifier(name))]
