"""Checks each value against what the schema says of its field alone (VAL-01, VAL-02, VAL-06, VAL-10).

A config is nearly always right, so each message has a check compiled for it that passes over right values quickly; a
path is made only for a wrong one.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from iop_edge.load import uniqueness
from iop_edge.load.findings import Trail, to_path
from iop_edge.load.formats import FORMS, TextForm
from iop_edge.load.marks import INVALID
from iop_edge.load.problems import Problem, Problems, known, shown
from iop_edge.load.uniqueness import Seen
from iop_edge.schema import table
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


def check(tree: Tree, problems: Problems) -> None:
    """Check a normalized tree."""
    _checker(table.root())(Run(problems), tree, None)


@cache
def _checker(message: Message) -> _Check:
    """Return the function that checks one message and all below it."""
    makers = (_required, _texts, _numbers, _lists, _maps, _singular, _message_lists)
    steps = [step for make in makers for step in make(list(message.fields.values()))]

    def check_message(run: Run, tree: Tree, trail: Trail) -> None:
        for step in steps:
            step(run, tree, trail)

    return check_message


def _required(fields: Sequence[Field]) -> Iterator[_Check]:
    names = [field.name for field in fields if field.required]

    def step(run: Run, tree: Tree, trail: Trail) -> None:
        for name in names:
            if name not in tree:
                run.fail("field.required", (trail, name, False), f'"{name}" must be given')

    if names:
        yield step


def _texts(fields: Sequence[Field]) -> Iterator[_Check]:
    forms = [(field, FORMS[field.format]) for field in fields if field.format and field.kind is Kind.STRING]
    texts = [(field.name, form.usual.fullmatch, field, form) for field, form in forms if not field.repeated]

    def step(run: Run, tree: Tree, trail: Trail) -> None:
        for name, is_usual, field, form in texts:
            value = tree.get(name)
            if value is None or (value.__class__ is str and is_usual(value)):
                continue
            _judge_text(run, value, field, form, (trail, name, False))

    if texts:
        yield step


def _judge_text(run: Run, value: Any, field: Field, form: TextForm, trail: Trail) -> None:
    text = known(value)
    if text is None:
        return
    fault = "" if form.usual.fullmatch(text) else form.fault(text)
    if fault:
        key = str(trail[1]) if trail is not None and trail[2] else ""
        run.fail(form.rule, trail, fault + (shown(field, value, key) if text else ""), form.hint)


def _numbers(fields: Sequence[Field]) -> Iterator[_Check]:
    numbers = [(field.name, *_bounds(field), field) for field in fields if _is_bounded(field)]

    def step(run: Run, tree: Tree, trail: Trail) -> None:
        for name, low, high, field in numbers:
            value = tree.get(name)
            if value is None or (value.__class__ is int and low <= value <= high):
                continue
            _judge_number(run, value, field, (trail, name, False))

    if numbers:
        yield step


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


def _lists(fields: Sequence[Field]) -> Iterator[_Check]:
    lists = [(field.name, _list_check(field)) for field in fields if field.repeated and field.kind is not Kind.MESSAGE]

    def step(run: Run, tree: Tree, trail: Trail) -> None:
        for name, check_list in lists:
            items = tree.get(name)
            if items.__class__ is list:
                check_list(run, items, (trail, name, False))

    if lists:
        yield step


def _list_check(field: Field) -> Callable[[Run, list[Any], Trail], None]:
    form = FORMS[field.format] if field.format else None

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


def _maps(fields: Sequence[Field]) -> Iterator[_Check]:
    headers = [field for field in fields if field.format == "headers"]
    is_name = FORMS["header_name"].usual.fullmatch
    is_usual = FORMS["headers"].usual.fullmatch

    def step(run: Run, tree: Tree, trail: Trail) -> None:
        for field in headers:
            values = tree.get(field.name)
            if values is None or values is INVALID:
                continue
            for name, value in values.items():
                if not is_name(name):
                    run.fail(
                        "value.header_name", ((trail, field.name, False), name, True), "the name of a header is a token"
                    )
                if value.__class__ is not str or not is_usual(value):
                    _judge_text(run, value, field, FORMS["headers"], ((trail, field.name, False), name, True))

    if headers:
        yield step


def _singular(fields: Sequence[Field]) -> Iterator[_Check]:
    below = [(field.name, _checker(field.message())) for field in fields if field.is_message]

    def step(run: Run, tree: Tree, trail: Trail) -> None:
        for name, check_message in below:
            value = tree.get(name)
            if value.__class__ is dict:
                check_message(run, value, (trail, name, False))

    if below:
        yield step


def _message_lists(fields: Sequence[Field]) -> Iterator[_Check]:
    lists = [(field, _checker(field.message())) for field in fields if field.is_message_list]

    def step(run: Run, tree: Tree, trail: Trail) -> None:
        for field, check_message in lists:
            items = tree.get(field.name)
            if items.__class__ is not list:
                continue
            here = (trail, field.name, False)
            for index, item in enumerate(items):
                if item is not INVALID:
                    check_message(run, item, (here, index, False))
            uniqueness.check_messages(items, field.message(), here, run.seen, run.problems)

    if lists:
        yield step
