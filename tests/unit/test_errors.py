"""Errors cross process boundaries: a worker's error must not break the pool of workers that brings it back."""

import copy
import pickle

import pytest

import iop_edge
from iop_edge.config.files import FileResolver
from iop_edge.config.pipeline import load_sources
from iop_edge.config.source import Source
from iop_edge.errors import PortableError
from iop_edge.ids import ModelId


def _copies(error: BaseException) -> list[BaseException]:
    return [copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))]


@pytest.mark.parametrize(
    "error",
    [
        iop_edge.EdgeError("cannot connect"),
        iop_edge.RequestRefusedError("slow down", status=429, code="slow", param="model", retry_after=3),
        iop_edge.NoProviderError(iop_edge.ModelKey(ModelId("m")), iop_edge.RefusalReason.BUSY),
        iop_edge.UnknownNodeError("gpu-z"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_copied_and_pickled_with_all_that_it_holds(error: BaseException) -> None:
    for other in _copies(error):
        assert type(other) is type(error)
        assert (str(other), other.args, other.__dict__) == (str(error), error.args, error.__dict__)


def test_an_invalid_config_is_copied_and_pickled_with_its_report() -> None:
    with pytest.raises(iop_edge.ConfigError) as raised:
        load_sources([Source("edge.yaml", b"edge: {id: e}\nnodes: 5\n")], FileResolver({}))
    for other in _copies(raised.value):
        assert isinstance(other, iop_edge.ConfigError)
        assert (other.report, str(other)) == (raised.value.report, str(raised.value))


@pytest.mark.parametrize("name", [name for name in iop_edge.__all__ if name.endswith("Error")])
def test_every_public_error_can_be_copied_whatever_its_constructor_takes(name: str) -> None:
    kind = getattr(iop_edge, name)
    assert issubclass(kind, PortableError | iop_edge.ConfigError)
