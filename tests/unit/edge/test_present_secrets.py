"""Where the raw secrets come from that a history does not keep."""

from pathlib import Path

import pytest

from iop_edge.config.files import FileResolver
from iop_edge.edge.restore import present_secrets, restore
from iop_edge.errors import ConfigError
from iop_edge.serve.own_files import OwnFiles
from iop_edge.store.history import Applied

pytestmark = pytest.mark.contract("REF-11")

TRACKED = """
edge: {id: e}
nodes:
- id: n
  address: 127.0.0.1:7501
  providers:
  - {id: p, type: seulgivibe_claude, category: api, models: [m], endpoint: 'https://gateway.example'}
"""
OVERLAY = """
nodes:
- id: n
  token: s3cr3t-token
  providers:
  - {id: p, headers: {Authorization: Bearer s3cr3t}}
"""


def files(directory: Path, **overlays: str) -> OwnFiles:
    (directory / "edge.yaml").write_text(TRACKED)
    for name, text in overlays.items():
        (directory / f"{name}.yaml").write_text(text)
    return OwnFiles([str(directory / "edge.yaml")], [str(directory / f"{name}.yaml") for name in overlays])


def test_a_secret_of_provider_first_fields_is_found_where_the_normalized_config_has_it(tmp_path: Path) -> None:
    own = files(tmp_path, private=OVERLAY)
    running = own.load()
    kept = Applied(1, "", running.dump_for_history())
    assert "s3cr3t" not in kept.text
    assert restore(kept, present_secrets(own), FileResolver({})) == running


@pytest.mark.parametrize("broken", ["nodes: [\n", "colour: red\n", "nodes: 5\n", None])
def test_a_broken_overlay_gives_nothing_and_the_others_still_do(tmp_path: Path, broken: str | None) -> None:
    own = files(tmp_path, private=OVERLAY)
    running = own.load()
    kept = Applied(1, "", running.dump_for_history())
    own = files(tmp_path, broken=broken or "", private=OVERLAY)
    if broken is None:
        (tmp_path / "broken.yaml").unlink()
    (tmp_path / "edge.yaml").write_text("edge: [broken\n")
    assert restore(kept, present_secrets(own), FileResolver({})) == running


def test_what_only_runs_is_no_secret_of_the_overlays(tmp_path: Path) -> None:
    running = files(tmp_path, private=OVERLAY).load()
    kept = Applied(1, "", running.dump_for_history())
    (tmp_path / "private.yaml").write_text("{}\n")
    own = OwnFiles([str(tmp_path / "edge.yaml")], [str(tmp_path / "private.yaml")])
    with pytest.raises(ConfigError) as caught:
        restore(kept, present_secrets(own), FileResolver({}))
    assert {violation.rule for violation in caught.value.violations} == {"rollback.secret"}
    assert len(caught.value.violations) == 2


@pytest.mark.parametrize(
    ("written", "token"),
    [
        ("${env:TOKEN}", "from-a-variable"),
        ("${file:token.txt}", "from-a-file"),
        ("prefix-${env:TOKEN}", "prefix-from-a-variable"),
        ("pa$$word", "pa$word"),
        ("pa$word", "pa$word"),
    ],
)
def test_a_secret_that_an_overlay_writes_with_a_dollar_sign_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, token: str
) -> None:
    monkeypatch.setenv("TOKEN", "from-a-variable")
    (tmp_path / "token.txt").write_text("from-a-file\n")
    kept = Applied(1, "", files(tmp_path, private=OVERLAY).load().dump_for_history())
    own = files(tmp_path, private=OVERLAY.replace("s3cr3t-token", written))
    restored = restore(kept, present_secrets(own), FileResolver())
    assert restored.tree["nodes"][0]["token"] == token
    assert restored == own.load()


def test_a_reference_of_an_overlay_that_does_not_resolve_gives_nothing_and_the_rest_still_does(tmp_path: Path) -> None:
    kept = Applied(1, "", files(tmp_path, private=OVERLAY).load().dump_for_history())
    own = files(tmp_path, private=OVERLAY.replace("s3cr3t-token", "${file:gone.txt}"))
    with pytest.raises(ConfigError) as caught:
        restore(kept, present_secrets(own), FileResolver({}))
    found = [(violation.rule, violation.path) for violation in caught.value.violations]
    assert found == [("rollback.secret", "nodes[n].token")]
