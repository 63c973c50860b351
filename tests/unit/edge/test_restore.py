from collections.abc import Mapping
from pathlib import Path

import pytest

from iop_edge.config.files import FileResolver
from iop_edge.config.pipeline import load_sources
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from iop_edge.edge.restore import restore, secrets_of
from iop_edge.errors import ConfigError
from iop_edge.store.history import Applied

pytestmark = pytest.mark.contract("REF-11")

CONFIG = """
edge: {id: e, name: %s}
nodes:
- id: node/7@x
  address: 127.0.0.1:7501
  token: %s
  adapters:
  - name: main
    type: vllm
    base_url: 'http://user:s3cr3t@127.0.0.1:8000'
    headers: {%s: Bearer s3cr3t, X-Tenant: "12:30"}
  providers:
  - {id: p, type: vllm, category: api, adapter: main, models: ["on", "1e3", "~"]}
"""


def loaded(text: str, base_dir: str = "/", env: Mapping[str, str] | None = None) -> Snapshot:
    return load_sources([Source("edge.yaml", text.encode(), private=True, base_dir=base_dir)], FileResolver(env or {}))


def kept(snapshot: Snapshot) -> Applied:
    return Applied(7, "hash", snapshot.dump_for_history())


def config(name: str = "one", token: str = "s3cr3t", header: str = "Authorization") -> str:
    return CONFIG % (name, token, header)


@pytest.mark.parametrize("token", ["s3cr3t", "'a $${b} c'", "'$$$$'", "'quo\"te'", "'line\\break'", "'12'", "'a: #b'"])
def test_a_config_is_restored_whole_from_history_and_the_present_secrets(token: str) -> None:
    old = loaded(config(token=token))
    assert "s3cr3t" not in kept(old).text
    assert restore(kept(old), secrets_of(old.tree, old.references), FileResolver({})) == old


def test_header_names_are_the_same_whatever_their_case() -> None:
    old, present = loaded(config(header="authorization")), loaded(config(header="AUTHORIZATION"))
    restored = restore(kept(old), secrets_of(present.tree, present.references), FileResolver({}))
    assert restored == old


def test_a_secret_that_is_a_reference_now_is_resolved_through_it(tmp_path: Path) -> None:
    (tmp_path / "token.txt").write_text("from a file\n")
    old, present = loaded(config()), loaded(config(token="'${file:token.txt}'"), str(tmp_path))
    (node,) = restore(kept(old), secrets_of(present.tree, present.references), FileResolver({})).tree["nodes"]
    assert node["token"] == "from a file"


def test_a_reference_of_old_resolves_in_the_environment_of_now() -> None:
    old = loaded(config(name="'${env:NAME}'"), env={"NAME": "then"})
    restored = restore(kept(old), secrets_of(old.tree, old.references), FileResolver({"NAME": "now"}))
    assert restored.tree["edge"]["name"] == "now"
    with pytest.raises(ConfigError, match=r"revision 7: edge\.name: .*NAME"):
        restore(kept(old), secrets_of(old.tree, old.references), FileResolver({}))


@pytest.mark.parametrize("name", [r"\ufeffx", r"\u2028", r"\U0001f511", r"\t", r"\x7f"])
def test_a_text_of_characters_that_yaml_takes_only_as_escapes_is_restored(name: str) -> None:
    old = loaded(config(name=f'"{name}"'))
    assert restore(kept(old), secrets_of(old.tree, old.references), FileResolver({})) == old


def test_a_url_without_a_secret_does_not_stand_for_one_that_had_one() -> None:
    old, present = loaded(config()), loaded(config().replace("user:s3cr3t@", ""))
    with pytest.raises(ConfigError) as caught:
        restore(kept(old), secrets_of(present.tree, present.references), FileResolver({}))
    assert [violation.path for violation in caught.value.violations] == ["nodes[node/7@x].adapters[main].base_url"]


def test_every_secret_that_is_missing_is_named() -> None:
    old, present = loaded(config()), loaded("edge: {id: e}")
    with pytest.raises(ConfigError) as caught:
        restore(kept(old), secrets_of(present.tree, present.references), FileResolver({}))
    node = "nodes[node/7@x]"
    assert [(violation.rule, violation.path) for violation in caught.value.violations] == [
        ("rollback.secret", f"{node}.token"),
        ("rollback.secret", f"{node}.adapters[main].base_url"),
        ("rollback.secret", f"{node}.adapters[main].headers[Authorization]"),
    ]


def test_what_is_wrong_with_an_old_config_today_is_told_without_its_secrets() -> None:
    old = loaded(config())
    broken = Applied(7, "hash", kept(old).text.replace("type: vllm", "type: cli"))
    with pytest.raises(ConfigError) as caught:
        restore(broken, secrets_of(old.tree, old.references), FileResolver({}))
    assert "s3cr3t" not in str(caught.value)
    assert {str(violation.span) for violation in caught.value.violations} == {"revision 7"}
