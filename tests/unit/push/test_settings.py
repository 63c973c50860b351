"""The bounds of a push are checked."""

from typing import Any

import pytest

from iop_edge.push.model import PushSettings


@pytest.mark.contract("PSH-04")
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"push_deadline": 0}, "push_deadline must be a positive number, got 0"),
        ({"backoff_base": -1.0}, "backoff_base must be a positive number, got -1.0"),
        ({"slow_retry": float("inf")}, "slow_retry must be a positive number, got inf"),
        ({"send_hold": float("nan")}, "send_hold must be a positive number, got nan"),
        ({"connect_timeout": "3"}, "connect_timeout must be a positive number, got '3'"),
        ({"dials_at_once": 1.5}, "dials_at_once must be a positive whole number, got 1.5"),
        ({"sends_at_once": True}, "sends_at_once must be a positive whole number, got True"),
    ],
)
def test_setting_out_of_bounds_is_refused_by_name(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared
        PushSettings(**setting)
    assert str(caught.value) == message


def test_whole_number_is_a_number_of_seconds() -> None:
    assert PushSettings(push_deadline=30).push_deadline == 30
