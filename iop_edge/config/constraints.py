"""Checks each value against the options of its field alone (VAL-01, VAL-02, VAL-06, VAL-08, VAL-10).

A config is nearly always right, so each message has a check compiled for it that passes over right values quickly; a
path is made only for a wrong one.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from iop_edge.config.findings import Trail, to_path
from iop_edge.config.marks import INVALID
from iop_edge.config.problems import Problem, Problems, duplicate, invalid, known, required, shown, told
from iop_edge.net import AddressError, parse_address
from iop_edge.rules import Rule
from iop_edge.schema import table
from iop_edge.schema.formats import FORMATS, TextFormat
from iop_edge.schema.table import INT_RANGES, Field, Kind, Message
from iop_edge.schema.values import Tree

_ONE_SPELLING: Final = re.compile(r"[a-z0-9.-]*[a-z0-9-]:[1-9][0-9]*")
"""Addresses that are their own canonical form, as nearly all are."""


class _Run:
    """One pass over a tree. `seen` has the values that are unique in the whole config, by field, with their places."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.seen: dict[Field, dict[Any, Trail]] = {}

    def fail(self, rule: Rule, trail: Trail, message: str, hint: str = "") -> None:
        """Record an invalid value."""
        self.problems.add(invalid(rule, to_path(trail), message, hint))


_Check = Callable[[_Run, Any, Trail], None]
"""Checks the value at a trail."""


def check(tree: Tree, problems: Problems) -> None:
    """Check a normalized tree."""
    _message_check(table.root())(_Run(problems), tree, None)


@cache
def _message_check(message: Message) -> _Check:
    """Return the function that checks one message and all below it."""
    fields = message.fields
    needed = frozenset(field.name for field in message.required)
    texts = {name: FORMATS[field.format].usual.fullmatch for name, field in fields.items() if _is_text(field)}
    bounds = {name: _bounds(field) for name, field in fields.items() if _is_bounded(field)}
    containers = {name: _container_check(field) for name, field in fields.items() if not field.is_scalar}

    def check_message(run: _Run, tree: Tree, trail: Trail) -> None:
        if needed and not tree.keys() >= needed:
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


def _find_missing(run: _Run, tree: Tree, trail: Trail, message: Message) -> None:
    for field in message.required:
        if field.name not in tree:
            run.problems.add(required(to_path((trail, field.name, False)), f'"{field.name}" is required'))


def _judge(run: _Run, value: Any, field: Field, trail: Trail) -> None:
    """Look closely at a scalar that is not seen to be right at once."""
    if _is_text(field):
        _judge_text(run, value, field, FORMATS[field.format], trail)
    elif _is_bounded(field):
        _judge_number(run, value, field, trail)


def _is_text(field: Field) -> bool:
    return field.kind is Kind.STRING and bool(field.format)


def _judge_text(run: _Run, value: Any, field: Field, text_format: TextFormat, trail: Trail) -> None:
    text = known(value)
    if text is None:
        return
    fault = text_format.fault(text)
    if fault:
        key = str(trail[1]) if trail is not None and trail[2] else ""
        run.fail(text_format.rule, trail, fault + (shown(field, value, key) if text else ""), text_format.hint)


def _is_bounded(field: Field) -> bool:
    return field.kind.is_integer and not (field.gt is None and field.gte is None and field.lte is None)


def _bounds(field: Field) -> tuple[int, int]:
    low, high = INT_RANGES[field.kind.value]
    if field.gt is not None:
        low = field.gt + 1
    if field.gte is not None:
        low = max(low, field.gte)
    return low, high if field.lte is None else field.lte


def _judge_number(run: _Run, value: Any, field: Field, trail: Trail) -> None:
    number = known(value)
    if number is None:
        return
    got = shown(field, value)
    if field.gt is not None and number <= field.gt:
        run.fail(Rule.VALUE_GT, trail, f"must be > {field.gt}{got}")
    elif field.gte is not None and number < field.gte:
        run.fail(Rule.VALUE_GTE, trail, f"must be >= {field.gte}{got}")
    elif field.lte is not None and number > field.lte:
        run.fail(Rule.VALUE_LTE, trail, f"must be <= {field.lte}{got}")


def _container_check(field: Field) -> _Check:
    """Return the function that checks the value of a field that is not a scalar."""
    if field.is_message:
        return _message_check(field.message())
    if field.is_message_list:
        return _message_list_check(field.message())
    if field.kind is Kind.MAP:
        return _headers_check(field) if field.format == "headers" else lambda *_: None
    return _list_check(field)


def _headers_check(field: Field) -> _Check:
    name_format, value_format = FORMATS["header_name"], FORMATS["headers"]
    is_name, is_usual = name_format.usual.fullmatch, value_format.usual.fullmatch

    def check_headers(run: _Run, headers: dict[str, Any], trail: Trail) -> None:
        for name, value in headers.items():
            if not is_name(name):
                run.fail(name_format.rule, (trail, name, True), "a header name must be a token")
            if value.__class__ is not str or not is_usual(value):
                _judge_text(run, value, field, value_format, (trail, name, True))

    return check_headers


def _list_check(field: Field) -> _Check:
    text_format = FORMATS[field.format] if field.format else None

    def check_list(run: _Run, items: list[Any], trail: Trail) -> None:
        if len(items) < field.min_items:
            noun = "item" if field.min_items == 1 else "items"
            run.fail(Rule.VALUE_MIN_ITEMS, trail, f"must have at least {field.min_items} {noun}, got {len(items)}")
        if text_format is not None:
            is_usual = text_format.usual.fullmatch
            for index, item in enumerate(items):
                if item.__class__ is not str or not is_usual(item):
                    _judge_text(run, item, field, text_format, (trail, index, False))
        if field.unique_items and len(set(items)) != len(items):
            _find_repeated_items(run, items, field, trail)

    return check_list


def _find_repeated_items(run: _Run, items: list[Any], field: Field, trail: Trail) -> None:
    first: dict[Any, int] = {}
    for index, item in enumerate(items):
        value = known(item)
        before = index if value is None else first.setdefault(value, index)
        if before != index:
            path, other = to_path((trail, index, False)), to_path((trail, before, False))
            run.problems.add(Problem(Rule.VALUE_DUPLICATE, path, f"{_named(field, item)} is listed twice", other=other))


def _message_list_check(message: Message) -> _Check:
    check_message = _message_check(message)
    in_config = [field for field in message.fields.values() if field.unique == "edge"]
    in_list = [field for field in message.fields.values() if field.unique == "list" or field.identity]
    in_list = [field for field in in_list if field not in in_config]

    def check_list(run: _Run, items: list[Any], trail: Trail) -> None:
        for index, item in enumerate(items):
            if item is not INVALID:
                check_message(run, item, (trail, index, False))
        trees = [{} if item is INVALID else item for item in items] if INVALID in items else items
        for field in in_list:
            values = [tree.get(field.name) for tree in trees]
            if field.format == "address":
                values = [_unique_key(known(value), field) for value in values]
            if len(set(values)) != len(values):
                _find_repeated(run, trees, field, trail, {})
        for field in in_config:
            _find_repeated(run, trees, field, trail, run.seen.setdefault(field, {}))

    return check_list


def _find_repeated(run: _Run, trees: list[Tree], field: Field, trail: Trail, seen: dict[Any, Trail]) -> None:
    """Find the messages of a list whose field has a value that another one, here or earlier, has too."""
    for index, tree in enumerate(trees):
        value = known(tree.get(field.name))
        if value is None:
            continue
        here = (trail, index, False)
        before = seen.setdefault(_unique_key(value, field), here)
        if before is not here:
            path, other = to_path((here, field.name, False)), to_path((before, field.name, False))
            run.problems.add(duplicate(path, _named(field, tree[field.name]), other))


def _unique_key(value: Any, field: Field) -> Any:
    """Return what all spellings of a value have in common: of an address, its canonical form."""
    if field.format != "address" or value.__class__ is not str or _ONE_SPELLING.fullmatch(value):
        return value
    try:
        return str(parse_address(value).canonical)
    except AddressError:
        return value


def _named(field: Field, value: Any) -> str:
    return f'this "{field.name}"' if field.masked or field.sensitive else f'"{field.name}" {told(value)}'
