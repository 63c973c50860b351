"""`explain-dispatch` on files; against a running Edge see tests/e2e."""

import json
from pathlib import Path

import pytest

from iop_edge.cli.console import PLAIN
from iop_edge.cli.render.status import explanation_text, unknown_text
from iop_edge.pool.errors import RefusalReason
from iop_edge.pool.explain import DispatchExplanation, DispatchKind
from tests.support import EXAMPLES
from tests.unit.cli.invoke import Invocation, invoke

FILES = (str(EXAMPLES / "edge.yaml"), "--private", str(EXAMPLES / "edge.private.yaml"), "--offline")


def explained(*arguments: str) -> Invocation:
    return invoke("explain-dispatch", *arguments)


@pytest.mark.parametrize(
    ("load", "code", "headline"),
    [
        ((), 0, "model qwen3-coder: a new request goes to gpu-a-qwen"),
        (("--unhealthy", "gpu-a-qwen"), 0, "model qwen3-coder: a new request goes to gpu-b-qwen"),
        (
            ("--in-flight", "gpu-a-qwen=4", "--in-flight=gpu-b-qwen=16"),
            0,
            "model qwen3-coder: no provider is free; a new request waits for gpu-a-qwen, gpu-b-qwen",
        ),
        (
            ("--in-flight", "gpu-a-qwen=4", "--queued", "gpu-a-qwen=16", "--unreachable", "gpu-b"),
            1,
            "model qwen3-coder: a new request is refused: every provider is busy, and its queue is full",
        ),
        (
            ("--unreachable", "gpu-a", "--unreachable", "gpu-b"),
            1,
            "model qwen3-coder: a new request is refused: every provider is disabled, unreachable or unhealthy",
        ),
    ],
)
def test_what_becomes_of_a_request_is_the_first_line_and_the_exit_code(
    load: tuple[str, ...], code: int, headline: str
) -> None:
    outcome = explained("qwen3-coder", *FILES, *load)
    assert (outcome.code, outcome.out.splitlines()[0], outcome.err) == (code, headline, "")


def test_a_model_that_nobody_serves_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "edge.yaml"
    config.write_text("edge: {id: e}\nmodels: [{id: m}]\n", encoding="utf-8")
    outcome = explained("m", str(config))
    assert (outcome.code, outcome.out) == (1, "model m: a new request is refused: no provider serves it\n")


def test_an_edge_that_stops_is_said_to() -> None:
    shown = explanation_text(DispatchExplanation("m", DispatchKind.MODEL, refusal=RefusalReason.CLOSED), PLAIN)
    assert shown == "model m: a new request is refused: the Edge is stopping"


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_unknown_model_is_refused_with_the_name_that_may_be_meant_and_all_names(form: str) -> None:
    outcome = explained("qwen3-codr", *FILES, "--format", form)
    assert outcome.code == 1
    assert outcome.err == (
        "explain-dispatch: there is no model group or route 'qwen3-codr'; did you mean qwen3-coder?;"
        " models: claude-sonnet, qwen3-coder; routes: gpt-4o-mini\n"
    )
    if form == "text":
        assert outcome.out == ""
    else:
        document = json.loads(outcome.out)
        assert (document["refusal"], document["candidates"]) == ("unknown", [])
        assert document["known_models"] == ["claude-sonnet", "qwen3-coder"]


def test_many_names_are_cut_and_hostile_ones_escaped() -> None:
    known = tuple(f"m-{number:04}" for number in range(500))
    text = unknown_text(DispatchExplanation("x\x1b[31m", known_models=known))
    assert text.endswith("m-0018, m-0019 and 480 more")
    assert "\x1b" not in text


def test_a_config_without_models_says_so() -> None:
    assert unknown_text(DispatchExplanation("x")).endswith("the config has none")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("m", *FILES, "--in-flight", "gpu-a-qwn=1"), "no provider 'gpu-a-qwn'; did you mean gpu-a-qwen?"),
        (("m", *FILES, "--queued", "gpu-a-qwn=1"), "did you mean gpu-a-qwen?"),
        (("m", *FILES, "--unhealthy", "gpu-a"), "no provider 'gpu-a'"),
        (("m", *FILES, "--unreachable", "gpu-c"), "no node 'gpu-c'; did you mean gpu-"),
        (("m", *FILES, "--in-flight", "gpu-a-qwen"), "is not PROVIDER=N"),
        (("m", *FILES, "--in-flight", "gpu-a-qwen=-1"), "is not PROVIDER=N"),
        (("m", *FILES, "--in-flight", "gpu-a-qwen=100001"), "is not PROVIDER=N"),
        (("m", *FILES, "--queued", "gpu-a-qwen=1"), "not busy"),
        (("m", *FILES, "--admin", "127.0.0.1:1"), "not both"),
        (("m", "--in-flight", "p=1"), "need FILE"),
        (("m", "--queued", "p=1"), "need FILE"),
        (("m", "--unhealthy", "p"), "need FILE"),
        (("m", "--unreachable", "n"), "need FILE"),
        (("m", "--private", "p.yaml"), "need FILE"),
        (("m", "--offline"), "need FILE"),
        ((), "MODEL"),
    ],
)
def test_a_wrong_call_is_a_usage_error(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = explained(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err + capsys.readouterr().err


@pytest.mark.contract("CFG-04")
def test_a_config_that_is_not_valid_is_reported() -> None:
    outcome = explained("m", str(EXAMPLES / "edge.rejected.yaml"), "--offline")
    assert (outcome.code, outcome.out) == (1, "")
    assert "[id.duplicate]" in outcome.err


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_of_the_config_is_shown(form: str) -> None:
    environ = {"IOP_CLOUD_AUTH": "s3cr3t-a", "IOP_GATEWAY_AUTH": "s3cr3t-b"}
    outcome = invoke("explain-dispatch", "qwen3-coder", *FILES[:-1], "--format", form, environ=environ)
    assert outcome.code == 0
    assert "s3cr3t" not in outcome.out + outcome.err
