"""No file makes the loader raise anything but a `ConfigError`. `nox -s fuzz` tries for longer, and by coverage."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.strategies import damaged_examples, near_the_schema
from tests.fuzz.target import feed

pytestmark = pytest.mark.contract("CFG-10")


@given(damaged_examples())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_damaged_examples_load_or_say_why_not(data: bytes) -> None:
    feed(data)


@given(near_the_schema())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_what_is_near_the_schema_loads_or_says_why_not(data: bytes) -> None:
    feed(data)
