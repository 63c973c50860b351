"""The log: JSON objects, one a line, or lines for people. It has no tracebacks, which could quote a secret.

Everything that a serving Edge reports is logged, including readiness and the fault that ends it. When the stream is
closed, full, or without a reader, lines are dropped and the Edge goes on.
"""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TextIO

from iop_edge.errors import EdgeError

if TYPE_CHECKING:
    from iop_pb import trees


_OWN: Final = "iop_edge"
_ANNOUNCED: Final = "announced"
_LOG: Final = logging.getLogger(__name__)


class LoggedError(EdgeError):
    """A fault that ends the Edge and is already logged."""


class _Handler(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - a name of logging's
        """Drop the line; the default prints a traceback with the line's values."""


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
            **_announced(record),
        }
        return json.dumps(entry)


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        if _announced(record):
            return _message(record)
        # Messages may quote a peer, whose control characters must not reach a terminal.
        message = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in _message(record))
        return f"{_time(record)} {record.levelname.lower()} {record.name}: {message}"


_FORMATTERS: Final[Mapping[str, type[logging.Formatter]]] = MappingProxyType(
    {"json": _JsonFormatter, "text": _TextFormatter}
)


def announce_ready(logger: logging.Logger, revision: int, admin: Sequence[str]) -> None:
    """Write the line that says that the Edge serves, whatever the log level.

    In text it begins with `iop-edge: ready`; in JSON that is the `message`, beside `event`, `revision` and `admin`.
    """
    message = f"iop-edge: ready, revision {revision}, admin {', '.join(admin)}"
    fields = {"event": "ready", "revision": revision, "admin": list(admin)}
    record = logger.makeRecord(logger.name, logging.INFO, "", 0, message, (), None, extra={_ANNOUNCED: fields})
    logger.handle(record)


@contextmanager
def faults_logged() -> Iterator[None]:
    """Log a fault that ends the block.

    Raises:
        LoggedError: in place of an `EdgeError` or `OSError` from the block.
    """
    try:
        yield
    except EdgeError as error:
        _LOG.error("%s", error)
        raise LoggedError(str(error)) from None
    except OSError as error:
        if error.strerror is None:
            raise
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        _LOG.error("%s", text)
        raise LoggedError(text) from None


@contextmanager
def logging_to(stream: TextIO | None, settings: "trees.Logging") -> Iterator[None]:
    """Write the log of this process to a stream while the block runs, by the `logging` section of a config.

    The level applies to iop_edge. Libraries log warnings and errors only: below that they print what they send.
    """
    handler = _Handler(stream)
    handler.setFormatter(_FORMATTERS[settings["format"]]())
    chosen = logging.getLevelNamesMapping()[settings["level"].upper()]
    root, own = logging.getLogger(), logging.getLogger(_OWN)
    levels = root.level, own.level
    root.setLevel(max(chosen, logging.WARNING))
    own.setLevel(chosen)
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(levels[0])
        own.setLevel(levels[1])


def _announced(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = record.__dict__.get(_ANNOUNCED, {})
    return fields


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _message(record: logging.LogRecord) -> str:
    text = record.getMessage()
    kind = record.exc_info[0] if record.exc_info else None
    return f"{text}: {kind.__name__}" if kind else text
