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


def test_a_sub_package_is_not_taken_for_the_function_of_its_name() -> None:
    # `iop_edge.config` is both; whoever imports the package first must still get the function.
    program = "import iop_edge.config.pipeline, iop_edge; print(callable(iop_edge.config))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
