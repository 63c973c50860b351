from pathlib import Path

import jsonschema
import pytest
import yaml

from iop_edge.schema.json_schema import json_schema
from tests.unit.cli.invoke import invoke

SCHEMA_LINE = "# yaml-language-server: $schema=edge.schema.json"


@pytest.mark.parametrize(
    ("options", "environ"),
    [(("--offline",), {}), ((), {"IOP_NODE_1_TOKEN": "t"})],
    ids=["offline", "with its variable"],
)
def test_config_is_valid_without_a_warning(tmp_path: Path, options: tuple[str, ...], environ: dict[str, str]) -> None:
    path = tmp_path / "edge.yaml"
    outcome = invoke("config", "init", str(path))
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    checked = invoke("config", "check", "--strict", str(path), *options, environ=environ)
    assert (checked.code, checked.out) == (0, "valid\n")


def test_standard_output_gets_what_a_file_gets(tmp_path: Path) -> None:
    path = tmp_path / "edge.yaml"
    invoke("config", "init", str(path))
    assert invoke("config", "init").out == path.read_text(encoding="utf-8")


def test_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "edge.yaml"
    path.write_text("mine", encoding="utf-8")
    outcome = invoke("config", "init", str(path))
    assert (outcome.code, outcome.out) == (2, "")
    assert str(path) in outcome.err
    assert path.read_text(encoding="utf-8") == "mine"


def test_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    link = tmp_path / "edge.yaml"
    link.symlink_to(tmp_path / "elsewhere")
    assert invoke("config", "init", str(link)).code == 2
    assert not (tmp_path / "elsewhere").exists()


def test_file_that_cannot_be_made_is_a_fault(tmp_path: Path) -> None:
    outcome = invoke("config", "init", str(tmp_path / "none" / "edge.yaml"))
    assert (outcome.code, outcome.err.count("\n")) == (4, 1)


def test_editors_find_the_schema_and_the_config_fits_it() -> None:
    text = invoke("config", "init").out
    assert text.splitlines()[0] == SCHEMA_LINE
    jsonschema.validate(yaml.safe_load(text), json_schema())


def test_every_variable_is_named_at_the_top() -> None:
    head, _, body = invoke("config", "init").out.partition("\n\n")
    used = {part.partition("}")[0] for part in body.split("${env:")[1:]}
    assert used
    assert {name for name in used if name not in head} == set()
