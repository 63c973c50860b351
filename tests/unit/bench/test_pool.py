"""The bench of dispatch, with a few requests: that it measures what it says."""

import pytest

from bench import pool


def test_it_compares_each_kind_with_its_yardstick(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, size in {"_REQUESTS": 20, "_FEW_REQUESTS": 2, "_PROVIDERS": 200}.items():
        monkeypatch.setattr(pool, name, size)
    monkeypatch.setattr("sys.argv", ["pool", "--rounds", "2"])
    pool.main()
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if not line.startswith("  ")] == [
        "20 times acquire and release, nobody waits",
        "2 requests that wait, are served in order, and end",
        "reconfigure one of 200 providers",
    ]
    yardsticks = {line.split("  ")[1] for line in shown if " 1.00 x   (1.00 to 1.00)" in line}
    assert yardsticks >= {"asyncio.Semaphore", "as few wait", "while nobody waits"}
