import argparse

import pytest

from iop_edge.cli.refreshing import duration_ms


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("1ms", 1), ("90s", 90_000), ("5m", 300_000), ("168h", 604_800_000), ("007s", 7000)],
)
def test_duration_is_read_in_milliseconds(text: str, milliseconds: int) -> None:
    assert duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    "text", ["", "5", "s", "0s", "-1s", "1.5s", "1 s", "5d", "1sm", "169h", "٣s", "9" * 5000 + "s"]
)
def test_text_that_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        duration_ms(text)
