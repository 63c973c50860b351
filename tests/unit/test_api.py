"""The names that users import."""

import dataclasses
import inspect
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import iop_edge
from iop_edge import ids
from iop_pb import trees
from iop_pb.iop.config.v1 import EdgeConfig
from iop_pb.iop.runtime.v1 import NodeConfigPayload

FOR_TYPES_ALONE = {"trees": trees, "EdgeConfig": EdgeConfig, "NodeConfigPayload": NodeConfigPayload}
"""What modules import for the type checker only."""

MADE_BY_THE_LIBRARY = frozenset(
    ("Acquisition", "Edge", "Execution", "Lease", "ProviderPool", "RequestPolicy", "Snapshot")
)
"""Classes that users are given and never construct."""

FOR_THE_EDGE = frozenset(("ProviderPool.reconfigure",))
"""Methods that only the Edge that owns the object calls."""


def signatures() -> Iterator[tuple[str, Callable[..., Any] | type]]:
    """Yield every public function, method, property and dataclass that a user can call or read."""
    for name in iop_edge.__all__:
        public = getattr(iop_edge, name)
        if not isinstance(public, type):
            yield name, public
            continue
        if dataclasses.is_dataclass(public) and name not in MADE_BY_THE_LIBRARY:
            yield name, public
        for key, member in vars(public).items():
            is_constructor = key == "__init__" and not dataclasses.is_dataclass(public)
            if key.startswith("_") and not (is_constructor and name not in MADE_BY_THE_LIBRARY):
                continue
            found = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if inspect.isfunction(found) and f"{name}.{key}" not in FOR_THE_EDGE:
                yield f"{name}.{key}", inspect.unwrap(found)


def types_in(hint: Any) -> Iterator[type]:
    """Yield the classes that a type hint is made of."""
    if isinstance(hint, list | tuple):
        for part in hint:
            yield from types_in(part)
    elif typing.get_origin(hint) is not None:
        yield from types_in((typing.get_origin(hint), *typing.get_args(hint)))
    elif isinstance(hint, type):
        yield hint


@pytest.mark.parametrize("name", iop_edge.__all__)
def test_each_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(iop_edge, name).__doc__


@pytest.mark.parametrize(("name", "public"), [pytest.param(*found, id=found[0]) for found in signatures()])
def test_a_public_signature_names_public_types_only(name: str, public: Callable[..., Any] | type) -> None:
    hints = typing.get_type_hints(public, localns=FOR_TYPES_ALONE)
    named = {kind for hint in hints.values() for kind in types_in(hint) if kind.__module__.startswith("iop_edge.")}
    private = {kind for kind in named if getattr(iop_edge, kind.__name__, None) is not kind}
    assert {kind for kind in private if kind.__module__ != ids.__name__} == set(), name


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="laod"):
        iop_edge.laod  # noqa: B018


def test_dir_lists_the_public_names_alone() -> None:
    assert dir(iop_edge) == sorted(iop_edge.__all__)


def test_importing_packages_leaves_the_public_functions_in_place() -> None:
    names = "callable(iop_edge.load), callable(iop_edge.plan)"
    program = f"import iop_edge.config.pipeline as p, iop_edge.refresh.plan, iop_edge; print({names})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True True"
