from collections.abc import Iterator

import pytest

from tests.unit.daemon.house import House, made


@pytest.fixture
def house() -> Iterator[House]:
    with made() as house:
        yield house
