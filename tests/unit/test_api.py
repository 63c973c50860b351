"""The names that users import."""

import subprocess
import sys

import pytest

import iop_edge


@pytest.mark.parametrize("name", iop_edge.__all__)
def test_each_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(iop_edge, name).__doc__


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="laod"):
        iop_edge.laod  # noqa: B018


def test_the_public_names_are_listed() -> None:
    assert set(iop_edge.__all__) <= set(dir(iop_edge))


def test_importing_packages_leaves_the_public_functions_in_place() -> None:
    names = "callable(iop_edge.load), callable(iop_edge.plan)"
    program = f"import iop_edge.config.pipeline as p, iop_edge.refresh.plan, iop_edge; print({names})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True True"
