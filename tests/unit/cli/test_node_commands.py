import json
from pathlib import Path

import pytest
import yaml

from tests.pki import NODE
from tests.support import EXAMPLES
from tests.unit.cli.invoke import invoke

EDGE = str(EXAMPLES / "edge.yaml")
PRIVATE = str(EXAMPLES / "edge.private.yaml")


@pytest.mark.contract("PAY-01", "CFG-08")
def test_payload_has_what_the_node_executes_and_no_secret() -> None:
    outcome = invoke("node", "payload", "relay", EDGE, "--private", PRIVATE, "--offline", "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    payload = json.loads(outcome.out)
    assert payload["node_id"] == "relay"
    adapters = {adapter["name"]: adapter for adapter in payload["adapters"]}
    assert adapters["cloud-claude"]["openai_compat"]["provider"] == "seulgivibe_claude"
    assert adapters["cloud"]["openai_compat"]["headers"] == {"Authorization": "<redacted>"}
    assert [resource["provider_id"] for resource in payload["resources"]] == ["cli-agent", "cloud-claude", "cloud-gpt"]
    assert "capacity" not in outcome.out
    assert "s3cr3t" not in outcome.out


def test_payload_shows_references_as_they_were_written() -> None:
    outcome = invoke("node", "payload", "relay", EDGE, "--offline")
    assert "Authorization: ${env:IOP_CLOUD_AUTH}" in outcome.out


def test_payload_is_the_same_in_both_formats() -> None:
    as_yaml, as_json = (
        invoke("node", "payload", "gpu-a", EDGE, "--offline", "--format", form).out for form in ("yaml", "json")
    )
    assert yaml.safe_load(as_yaml) == json.loads(as_json)


def test_payload_of_an_unknown_node_is_a_usage_error_with_a_hint() -> None:
    outcome = invoke("node", "payload", "gpu_a", EDGE, "--offline")
    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean gpu-a?" in outcome.err


@pytest.mark.contract("PAY-02")
@pytest.mark.parametrize(
    ("listen", "environ", "said"),
    [
        ("127.0.0.1:0", {}, "no token in $IOP_NODE_TOKEN"),
        ("127.0.0.1:0", {"IOP_NODE_TOKEN": "tökén"}, "printable ASCII"),
        ("127.0.0.1:0", {"IOP_NODE_TOKEN": "\udcff"}, "printable ASCII"),
        ("127.0.0.1:0", {"IOP_NODE_TOKEN": " \n"}, "no token in $IOP_NODE_TOKEN"),
        ("nowhere", {"IOP_NODE_TOKEN": "t"}, "--listen"),
    ],
)
def test_node_that_is_not_told_enough_does_not_start(listen: str, environ: dict[str, str], said: str) -> None:
    outcome = invoke("node", "run", "--id", "n", "--listen", listen, environ=environ)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err


def test_node_without_a_token_in_its_file_does_not_start(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("\n\n", encoding="utf-8")
    options = ("--id", "n", "--listen", "127.0.0.1:0", "--token-file", str(tokens))
    outcome = invoke("node", "run", *options, environ={"IOP_NODE_TOKEN": "t"})
    assert outcome.code == 2
    assert str(tokens) in outcome.err


@pytest.mark.contract("CFG-08")
def test_token_file_that_is_no_text_is_a_usage_error(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_bytes(b"s3cr3t\xff\n")
    outcome = invoke("node", "run", "--id", "n", "--listen", "127.0.0.1:0", "--token-file", str(tokens))
    assert outcome.code == 2
    assert outcome.err == f"iop-edge: node run: {tokens} is not UTF-8\n"


def test_missing_token_file_is_a_fault(tmp_path: Path) -> None:
    outcome = invoke("node", "run", "--id", "n", "--listen", "127.0.0.1:0", "--token-file", str(tmp_path / "none"))
    assert outcome.code == 4
    assert outcome.err == f"iop-edge: {tmp_path / 'none'}: No such file or directory\n"


@pytest.mark.contract("VAL-02")
@pytest.mark.parametrize("node", ["", "two words", "bell\x07"])
def test_node_whose_id_no_config_can_name_does_not_start(node: str) -> None:
    environ = {"IOP_NODE_TOKEN": "t"}
    outcome = invoke("node", "run", f"--id={node}", "--listen", "127.0.0.1:0", environ=environ)
    assert (outcome.code, outcome.out) == (2, "")
    assert "--id" in outcome.err


NODE_OPTIONS = ("node", "run", "--id", "n", "--listen", "127.0.0.1:0")


@pytest.mark.parametrize("options", [("--tls-cert", "c"), ("--tls-key", "k"), ("--tls-ca", "a")])
def test_node_needs_certificate_and_key_together(options: tuple[str, ...]) -> None:
    outcome = invoke(*NODE_OPTIONS, *options, environ={"IOP_NODE_TOKEN": "t"})
    assert outcome.code == 2
    assert "--tls-cert and --tls-key must be given together" in outcome.err


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(
    ("content", "said"), [(None, "No such file or directory"), (b"\xff", "is not PEM"), (b"s3cr3t", "no usable PEM")]
)
def test_node_whose_certificate_cannot_be_used_does_not_start(content: bytes | None, said: str, tmp_path: Path) -> None:
    cert = tmp_path / "node.pem"
    if content is not None:
        cert.write_bytes(content)
    outcome = invoke(*NODE_OPTIONS, "--tls-cert", str(cert), "--tls-key", str(cert), environ={"IOP_NODE_TOKEN": "t"})
    assert (outcome.code, outcome.out) == (4, "")
    assert said in outcome.err
    assert "s3cr3t" not in outcome.err


def test_node_whose_authorities_are_an_empty_file_does_not_start_without_asking_for_certificates(
    tmp_path: Path,
) -> None:
    files = {"--tls-cert": NODE.cert, "--tls-key": NODE.key, "--tls-ca": ""}
    options = []
    for option, text in files.items():
        file = tmp_path / option
        file.write_text(text, encoding="ascii")
        options += [option, str(file)]
    outcome = invoke(*NODE_OPTIONS, *options, environ={"IOP_NODE_TOKEN": "t"})
    assert (outcome.code, outcome.out) == (4, "")
    assert outcome.err == f"iop-edge: {tmp_path / '--tls-ca'} is empty\n"
