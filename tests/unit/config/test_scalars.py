"""Scalars by the kind of their field, from files and from references."""

from typing import Any

import pytest

from iop_edge.config import scalars
from iop_edge.config.scalars import ScalarError
from iop_edge.schema import table
from iop_edge.schema.table import Field


def field(message: str, name: str) -> Field:
    return table.message(message).fields[name]


NAME = field("EdgeIdentity", "name")
ENABLED = field("Bootstrap", "enabled")
CAPACITY = field("Provider", "capacity")
TIMEOUT = field("Provider", "queue_timeout_ms")
TYPE = field("AdapterInstance", "type")
PROFILE = field("AdapterInstance", "protocol_profile")
HEADERS = field("AdapterInstance", "headers")
MODELS = field("Provider", "models")
CAPABILITIES = field("Provider", "lifecycle_capabilities")
TOKEN = field("Node", "token")
HASH = field("PrincipalToken", "token_hash_sha256")


@pytest.mark.contract("CFG-06")
@pytest.mark.case("Y4")
@pytest.mark.parametrize(
    ("of", "text", "value"),
    [
        (NAME, "0123", "0123"),
        (NAME, "true", "true"),
        (NAME, "", ""),
        (NAME, "${env:NOT_AGAIN}", "${env:NOT_AGAIN}"),
        (HEADERS, "123", "123"),
        (MODELS, "1.10", "1.10"),
        (ENABLED, "true", True),
        (ENABLED, "FALSE", False),
        (CAPACITY, "4", 4),
        (TIMEOUT, "-9223372036854775808", -(2**63)),
        (TYPE, "vllm", "vllm"),
        (CAPABILITIES, "load", "load"),
    ],
)
def test_text_of_a_reference_takes_the_type_of_its_field(of: Field, text: str, value: Any) -> None:
    read = scalars.from_text(of, text)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.contract("CFG-06", "CFG-08")
@pytest.mark.parametrize(
    ("of", "text", "rule"),
    [
        (ENABLED, "yes", "field.type"),
        (ENABLED, "", "field.type"),
        (CAPACITY, "0123", "field.type"),
        (CAPACITY, "4 ", "field.type"),
        (CAPACITY, "4\n", "field.type"),
        (CAPACITY, "s3cr3t", "field.type"),
        (CAPACITY, "", "field.type"),
        (CAPACITY, "99999999999", "value.range"),
        (TYPE, "s3cr3t", "value.enum"),
        (CAPABILITIES, "s3cr3t", "value.enum"),
    ],
)
def test_text_of_a_reference_that_its_field_refuses_is_not_shown(of: Field, text: str, rule: str) -> None:
    with pytest.raises(ScalarError) as caught:
        scalars.from_text(of, text)
    assert caught.value.rule == rule
    assert not text.strip() or text.strip() not in f"{caught.value} {caught.value.hint}"


@pytest.mark.contract("NRM-05")
@pytest.mark.parametrize("word", ["openai_chat", "openai-chat", "OpenAI-Chat", "OPENAI_CHAT"])
def test_loose_spelling_of_a_word(word: str) -> None:
    assert scalars.read(PROFILE, word, plain=True) == "openai_chat"


@pytest.mark.parametrize("word", ["VLLM", "llama-cpp", "Ollama"])
def test_spelling_of_other_words_is_strict(word: str) -> None:
    with pytest.raises(ScalarError) as caught:
        scalars.read(TYPE, word, plain=True)
    assert caught.value.rule == "value.enum"


@pytest.mark.contract("NRM-03")
@pytest.mark.parametrize("alias", ["seulgivibe_claude", "seulgivibe_openai"])
def test_alias_of_a_word_stays_as_it_is_written(alias: str) -> None:
    assert scalars.read(TYPE, alias, plain=True) == alias


def test_refused_word_lists_the_words() -> None:
    with pytest.raises(ScalarError) as caught:
        scalars.read(TYPE, "tgi", plain=True)
    assert all(word in caught.value.message for word in ("ollama", "vllm", "llama_cpp", "openai_compat", "cli"))
    assert "tgi" in caught.value.message


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("of", [TOKEN, HASH, scalars.item_field(HEADERS)], ids=lambda of: of.name)
def test_refused_scalar_of_a_secret_field_is_not_shown(of: Field) -> None:
    with pytest.raises(ScalarError) as caught:
        scalars.read(of, "20240102", plain=True)
    assert "20240102" not in caught.value.message + caught.value.hint
    assert "quotes" in caught.value.hint


@pytest.mark.parametrize("text", ["9" * 50, "0x" + "f" * 60])
def test_long_scalar_is_not_shown(text: str) -> None:
    with pytest.raises(ScalarError) as caught:
        scalars.read(NAME, text, plain=True)
    assert text not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    ("of", "text", "plain", "hint"),
    [
        (ENABLED, "yes", True, "true"),
        (ENABLED, "OFF", True, "false"),
        (ENABLED, "true", False, "without quotes"),
        (CAPACITY, "4", False, "without quotes"),
        (CAPACITY, "0x10", True, "decimal"),
        (NAME, "1.10", True, '"1.10"'),
    ],
)
def test_refused_scalar_gets_a_hint(of: Field, text: str, plain: bool, hint: str) -> None:
    with pytest.raises(ScalarError) as caught:
        scalars.read(of, text, plain=plain)
    assert hint in caught.value.hint
