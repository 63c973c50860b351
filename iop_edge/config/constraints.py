"""Checks each value against what the schema says of its field alone (VAL-01, VAL-02, VAL-06, VAL-10).

A config is nearly always right, so each message has a check compiled for it that passes over right values quickly; a
path is made only for a wrong one.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from iop_edge.config import uniqueness
from iop_edge.config.findings import Trail, to_path
from iop_edge.config.marks import INVALID
from iop_edge.config.problems import Problem, Problems, known, shown
from iop_edge.config.uniqueness import Seen
from iop_edge.schema import table
from iop_edge.schema.formats import FORMATS, TextFormat
from iop_edge.schema.table import INT_RANGES, Field, Kind, Message
from iop_edge.schema.values import Tree


class Run:
    """One pass over a tree."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.seen: Seen = {}

    def fail(self, rule: str, trail: Trail, message: str, hint: str = "") -> None:
        """Record a problem."""
        self.problems.add(Problem(rule, to_path(trail), message, hint))


_Check = Callable[[Run, Tree, Trail], None]
_CheckContainer = Callable[[Run, Any, Trail], None]


def check(tree: Tree, problems: Problems) -> None:
    """Check a normalized tree."""
    _checker(table.root())(Run(problems), tree, None)


@cache
def _checker(message: Message) -> _Check:
    """Return the function that checks one message and all below it."""
    fields = message.fields
    required = frozenset(field.name for field in message.required)
    texts = {name: FORMATS[field.format].usual.fullmatch for name, field in fields.items() if _is_text(field)}
    bounds = {name: _bounds(field) for name, field in fields.items() if _is_bounded(field)}
    containers = {name: _container(field) for name, field in fields.items() if not field.is_scalar}

    def check_message(run: Run, tree: Tree, trail: Trail) -> None:
        if not required <= tree.keys():
            _find_missing(run, tree, trail, message)
        for name, value in tree.items():
            kind = value.__class__
            if kind is str:
                is_usual = texts.get(name)
                if is_usual is None or is_usual(value):
                    continue
            elif kind is int:
                allowed = bounds.get(name)
                if allowed is None or allowed[0] <= value <= allowed[1]:
                    continue
            elif kind is dict or kind is list:
                containers[name](run, value, (trail, name, False))
                continue
            elif kind is bool:
                continue
            _judge(run, value, fields[name], (trail, name, False))

    return check_message


def _find_missing(run: Run, tree: Tree, trail: Trail, message: Message) -> None:
    for field in message.required:
        if field.name not in tree:
            run.fail("field.required", (trail, field.name, False), f'"{field.name}" must be given')


def _judge(run: Run, value: Any, field: Field, trail: Trail) -> None:
    """Look closely at a scalar that is not seen to be right at once."""
    if _is_text(field):
        _judge_text(run, value, field, FORMATS[field.format], trail)
    elif _is_bounded(field):
        _judge_number(run, value, field, trail)


def _is_text(field: Field) -> bool:
    return field.kind is Kind.STRING and bool(field.format)


def _judge_text(run: Run, value: Any, field: Field, form: TextFormat, trail: Trail) -> None:
    text = known(value)
    if text is None:
        return
    fault = form.fault(text)
    if fault:
        key = str(trail[1]) if trail is not None and trail[2] else ""
        run.fail(form.rule, trail, fault + (shown(field, value, key) if text else ""), form.hint)


def _is_bounded(field: Field) -> bool:
    return field.kind.is_integer and not (field.gt is None and field.gte is None and field.lte is None)


def _bounds(field: Field) -> tuple[int, int]:
    low, high = INT_RANGES[field.kind.value]
    if field.gt is not None:
        low = field.gt + 1
    if field.gte is not None:
        low = max(low, field.gte)
    return low, high if field.lte is None else field.lte


def _judge_number(run: Run, value: Any, field: Field, trail: Trail) -> None:
    number = known(value)
    if number is None:
        return
    got = shown(field, value)
    if field.gt is not None and number <= field.gt:
        run.fail("value.gt", trail, f"must be > {field.gt}{got}")
    elif field.gte is not None and number < field.gte:
        run.fail("value.gte", trail, f"must be >= {field.gte}{got}")
    elif field.lte is not None and number > field.lte:
        run.fail("value.lte", trail, f"must be <= {field.lte}{got}")


def _container(field: Field) -> _CheckContainer:
    """Return the function that checks the value of a field that is no scalar."""
    if field.is_message:
        return _checker(field.message())
    if field.is_message_list:
        return _message_list_check(field.message())
    if field.kind is Kind.MAP:
        return _headers_check(field) if field.format == "headers" else _no_check
    return _list_check(field)


def _no_check(run: Run, value: Any, trail: Trail) -> None:
    """Find nothing wrong."""


def _message_list_check(message: Message) -> _CheckContainer:
    check_message = _checker(message)

    def check_list(run: Run, items: list[Any], trail: Trail) -> None:
        for index, item in enumerate(items):
            if item is not INVALID:
                check_message(run, item, (trail, index, False))
        uniqueness.check_messages(items, message, trail, run.seen, run.problems)

    return check_list


def _headers_check(field: Field) -> _CheckContainer:
    name_form, value_form = FORMATS["header_name"], FORMATS["headers"]
    is_name, is_usual = name_form.usual.fullmatch, value_form.usual.fullmatch

    def check_headers(run: Run, headers: dict[str, Any], trail: Trail) -> None:
        for name, value in headers.items():
            if not is_name(name):
                run.fail(name_form.rule, (trail, name, True), "the name of a header is a token")
            if value.__class__ is not str or not is_usual(value):
                _judge_text(run, value, field, value_form, (trail, name, True))

    return check_headers


def _list_check(field: Field) -> _CheckContainer:
    form = FORMATS[field.format] if field.format else None

    def check_list(run: Run, items: list[Any], trail: Trail) -> None:
        if len(items) < field.min_items:
            run.fail("value.min_items", trail, f"must have {field.min_items} or more items, got {len(items)}")
        if form is not None:
            for index, item in enumerate(items):
                if item.__class__ is not str or not form.usual.fullmatch(item):
                    _judge_text(run, item, field, form, (trail, index, False))
        if field.unique_items and len(items) > 1:
            uniqueness.check_items(items, field, trail, run.problems)

    return check_list
