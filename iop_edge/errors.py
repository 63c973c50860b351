"""What is wrong with a config, and where.

A load reports everything that it finds at once (CFG-04). Nothing in this module ever holds a sensitive value: messages
name fields and rules, and excerpts are masked before they get here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

MAX_LISTED = 1000
"""The most violations that one report lists; its total counts all."""


MAX_TEXT: Final = 1000
"""The most characters of a path, a message or a hint."""

MAX_FILE_NAME: Final = 4096
"""The most characters of a file's name: no file system has longer paths, but a layer may come by another way."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a file. Lines and columns count from 1; a column counts code points.

    A name of more than `MAX_FILE_NAME` characters is shortened.
    """

    file: str
    line: int = 0
    column: int = 0

    def __post_init__(self) -> None:
        """Shorten the name of the file."""
        object.__setattr__(self, "file", shortened(self.file, MAX_FILE_NAME))

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The source line of a violation, masked, and the display column (from 0) under which its caret stands."""

    text: str
    caret: int


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule.

    `rule` is a stable id (see docs/rules.md); `path` has the indexes of the file that `span` names. Tests and tools
    compare `(rule, path, span)`; `message` and `hint` are for people and may change. A file may have a key of a
    megabyte: what has more than `MAX_TEXT` characters is shortened.
    """

    rule: str
    path: str
    span: Span | None
    message: str
    hint: str = ""

    def __post_init__(self) -> None:
        """Shorten what is long."""
        for name in ("path", "message", "hint"):
            object.__setattr__(self, name, shortened(getattr(self, name), MAX_TEXT))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        """Tell pydantic that the JSON of a violation has the parts of its span in place of the span."""
        from pydantic_core import core_schema

        flat = core_schema.plain_serializer_function_ser_schema(
            _flat, return_schema=handler.generate_schema(_FlatViolation)
        )
        return {**handler(source), "serialization": flat}

    @property
    def text(self) -> str:
        """What is wrong, with the path and the hint, but without the place in a file."""
        path = f"{self.path}: " if self.path else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{path}{self.message}{hint}"

    def __str__(self) -> str:
        place = f"{self.span}: " if self.span else ""
        return f"{place}{self.text} [{self.rule}]"


@dataclass(frozen=True, slots=True)
class _FlatViolation:
    """A violation as JSON and the admin messages have it; an unknown place is the empty text and zeros."""

    rule: str
    path: str
    file: str
    line: int
    column: int
    message: str
    hint: str


def _flat(violation: Violation) -> _FlatViolation:
    span = violation.span or Span("")
    return _FlatViolation(
        violation.rule, violation.path, span.file, span.line, span.column, violation.message, violation.hint
    )


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a check: what is wrong, in source order, and what somebody should look at.

    `violations` lists at most `MAX_LISTED`; `total` counts all. `excerpts` has the masked source line of a span.
    """

    violations: tuple[Violation, ...] = ()
    warnings: tuple[Violation, ...] = ()
    total: int = 0
    excerpts: Mapping[Span, Excerpt] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def ok(self) -> bool:
        """Whether the config is valid. Warnings do not count."""
        return not self.total

    def __reduce__(self) -> "tuple[type[Report], tuple[object, ...]]":
        # A mapping proxy, as the excerpts are, can be neither copied nor pickled.
        return type(self), (self.violations, self.warnings, self.total, dict(self.excerpts))


class ConfigError(ValueError):
    """A config that cannot be used, with every reason (CFG-04)."""

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        self.report = report

    @property
    def violations(self) -> tuple[Violation, ...]:
        """What is wrong, in source order."""
        return self.report.violations

    @property
    def total(self) -> int:
        """How many violations there are, listed or not."""
        return self.report.total

    def __str__(self) -> str:
        lines = violation_lines(self.violations, self.report.excerpts)
        return "\n".join((*lines, *unlisted(self.total, len(self.violations))))


class PortableError(Exception):
    """An error that can be copied and pickled, and so cross process boundaries, whatever its constructor takes."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...], dict[str, object]]:
        return _bare, (type(self), *self.args), self.__dict__


def _bare(kind: type[PortableError], *arguments: object) -> PortableError:
    return kind.__new__(kind, *arguments)


class EdgeError(PortableError):
    """A fault of the running system rather than of a config: an address that is taken, a peer that does not answer."""


class RequestRefusedError(EdgeError):
    """A request is refused. The error holds what an OpenAI-compatible answer needs; none of it shows a secret.

    Attributes:
        status: the HTTP status, from 400 up.
        code: the kind of error, a stable word such as `queue_full`.
        message: what is wrong, for a person.
        param: the field of the body, or the header, that is at fault; None: neither is.
        retry_after: the seconds after which a new attempt may succeed; None: unknown.

    Example:
        >>> error = RequestRefusedError("no such model", status=404, code="model_not_found", param="model")
        >>> error.body()["error"]["type"]
        'invalid_request_error'
    """

    def __init__(
        self, message: str, *, status: int, code: str, param: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.param = param
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer, beside those of its body."""
        headers = {"WWW-Authenticate": "Bearer"} if self.code == "invalid_api_key" else {}
        return headers if self.retry_after is None else {**headers, "Retry-After": str(self.retry_after)}

    def body(self) -> dict[str, dict[str, str | None]]:
        """Return the body of the answer, as JSON values."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


def shortened(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters: of a longer one its start, its length, and its end."""
    if len(text) <= limit:
        return text
    cut = f"[... {len(text)} characters ...]"
    end = limit // 3
    return f"{text[: limit - end - len(cut)]}{cut}{text[-end:]}"


def violation_lines(
    violations: Iterable[Violation],
    excerpts: Mapping[Span, Excerpt],
    line: Callable[[Violation], str] = str,
    caret: str = "^",
) -> Iterator[str]:
    """Yield a line for each violation, followed by its source line and a caret if there is an excerpt."""
    for violation in violations:
        yield line(violation)
        excerpt = excerpts.get(violation.span) if violation.span else None
        if excerpt is not None:
            yield f"    {excerpt.text}"
            yield f"    {' ' * excerpt.caret}{caret}"


def unlisted(total: int, listed: int) -> Iterator[str]:
    """Yield a line with the number of violations that are not listed, if any."""
    if total > listed:
        yield f"... and {total - listed} more"
