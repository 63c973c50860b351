from collections.abc import Iterator

import pytest

from tests.unit.edge.house import House, made


@pytest.fixture
def house() -> Iterator[House]:
    with made() as house:
        yield house
