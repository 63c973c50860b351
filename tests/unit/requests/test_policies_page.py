"""docs/policies.md shows what happens."""

import doctest
import re
from pathlib import Path

import pytest

from iop_edge.ids import ModelId, ModelKey
from iop_edge.pool.errors import NoProviderError, RefusalReason
from tests.support import ROOT
from tests.unit.requests.policies import refusals

PAGE = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


@pytest.mark.contract("POL-06", "POL-08", "POL-09", "POL-10")
def test_the_example_comes_out_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "edge.yaml").write_text(block("yaml"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(block("python"), {}, "policies.md", None, 0)
    shown: list[str] = []
    results = doctest.DocTestRunner().run(example, out=shown.append)
    assert results.attempted >= 10
    assert results.failed == 0, "".join(shown)


def test_the_table_has_every_error() -> None:
    errors = [*refusals(), *(NoProviderError(ModelKey(ModelId("m")), reason) for reason in RefusalReason)]
    rows = re.findall(r"^\| (\d{3}) \| (.*?) \| ", PAGE, re.MULTILINE)
    listed = {(int(status), code) for status, codes in rows for code in re.findall(r"`(\w+)`", codes)}
    assert listed == {(error.status, error.code) for error in errors}
