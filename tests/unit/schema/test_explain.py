import pytest

from iop_edge.schema import table
from iop_edge.schema.explain import UnknownPathError, explain
from iop_edge.schema.table import RefreshClass


@pytest.mark.parametrize(
    "path",
    [
        "nodes[].providers[].capacity",
        "nodes[2].providers[0].capacity",
        "nodes[gpu-a].providers[a-qwen].capacity",
        "nodes.providers.capacity",
    ],
)
def test_a_field_is_found_by_each_spelling_of_its_path(path: str) -> None:
    found = explain(path)
    assert found.path == "nodes[].providers[].capacity"
    assert found.type == "int32"
    assert found.default == "1"
    assert found.constraints == ("1 or more",)
    assert found.refresh is RefreshClass.LIVE
    assert not found.sensitive
    assert found.takes_references


@pytest.mark.contract("CFG-09")
def test_every_leaf_is_explained_as_the_table_has_it() -> None:
    for leaf in table.leaves():
        found = explain(leaf.pattern)
        assert found.path == leaf.pattern
        assert found.doc.startswith(leaf.field.doc)
        assert found.refresh is leaf.field.refresh
        assert (found.default is None) is (leaf.field.default is None)


@pytest.mark.parametrize(
    ("path", "type_"),
    [
        ("nodes[].adapters", "list of AdapterInstance"),
        ("nodes[].tls", "Tls"),
        ("nodes[].providers[].models", "list of string"),
        ("nodes[].adapters[].headers", "map of string to string"),
        ("nodes[].adapters[].type", "AdapterType"),
        ("nodes[].adapters[].enabled", "bool"),
    ],
)
def test_a_type_is_told_in_words(path: str, type_: str) -> None:
    assert explain(path).type == type_


@pytest.mark.parametrize(
    ("path", "constraint"),
    [
        ("long_context_threshold_tokens", "greater than 0"),
        ("nodes[].id", "required"),
        ("nodes[].address", "unique in its list"),
        ("nodes[].providers[].id", "unique in the whole config"),
        ("nodes[].providers[].adapter", "names an adapter"),
        ("models[].providers[].id", "names a provider"),
        ("nodes[].providers[].models", "items: 1 or more"),
        ("nodes[].providers[].models", "no duplicate items"),
        ("nodes[].adapters[].headers", "keys are case-insensitive"),
        ("nodes[].adapters[].base_url", "an absolute http or https URL"),
    ],
)
def test_a_constraint_is_told(path: str, constraint: str) -> None:
    assert constraint in explain(path).constraints


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("nodes[].adapters", "the list may be written as a mapping by `type`"),
        ("models[].providers", "an item may be written as its `id` alone"),
        ("nodes[].providers[].health", "it may be written as its `mode` alone"),
        ("nodes[].adapters[].protocol_profile", 'a word may be written in any case, and with "-" for "_"'),
        ("nodes[].providers[].lifecycle_capabilities", "the order of the items does not matter"),
    ],
)
def test_another_way_to_write_a_value_is_told(path: str, form: str) -> None:
    assert form in explain(path).forms


def test_the_words_of_an_enum_come_with_their_docs_and_other_spellings() -> None:
    words = {word.word: word for word in explain("nodes[].providers[].type").words}
    assert list(words) == ["ollama", "vllm", "llama_cpp", "openai_compat", "cli"]
    assert words["openai_compat"].aliases == ("seulgivibe_claude", "seulgivibe_openai")
    assert words["vllm"].doc == "vLLM."


def test_a_message_lists_its_fields() -> None:
    children = {child.name: child for child in explain("nodes[].runtime").children}
    assert list(children) == ["concurrency"]
    assert children["concurrency"].type == "int32"
    assert children["concurrency"].refresh is RefreshClass.LIVE


def test_the_empty_path_is_the_whole_config() -> None:
    found = explain("")
    assert [child.name for child in found.children] == list(table.root().fields)
    assert found.refresh is None


def test_a_secret_and_its_harmless_keys_are_told() -> None:
    found = explain("nodes[].adapters[].headers")
    assert found.sensitive
    assert "x-tenant" in found.harmless_keys


def test_a_default_under_a_condition_is_told_with_the_condition() -> None:
    found = explain("openai.provider_auth.required")
    assert (found.default, found.default_if) == ("true", "enabled")


def test_another_spelling_of_a_key_leads_to_the_field() -> None:
    found = explain("nodes[].providers[].endpoint")
    assert found.path == "nodes[].providers[].base_url"
    assert found.spellings == ("endpoint",)


@pytest.mark.parametrize(
    ("path", "suggestion"),
    [
        ("nodes[].adress", "nodes[].address"),
        ("nods", "nodes[]"),
        ("capacity", "nodes[].providers[].capacity"),
        ("adapters", "nodes[].adapters[]"),
        ("nodes[].id.x", "nodes[].id"),
        ("nodes[].providers[].endpont", "nodes[].providers[].base_url"),
    ],
)
def test_an_unknown_path_is_refused_with_what_may_have_been_meant(path: str, suggestion: str) -> None:
    with pytest.raises(UnknownPathError) as caught:
        explain(path)
    assert suggestion in caught.value.suggestions
    assert caught.value.path == path


def test_a_legacy_key_is_refused_with_what_replaced_it() -> None:
    with pytest.raises(UnknownPathError) as caught:
        explain("nodes[].providers[].command")
    assert "profile" in caught.value.hint


def test_what_is_no_path_is_refused() -> None:
    with pytest.raises(UnknownPathError, match="no field at"):
        explain("nodes[")


@pytest.mark.contract("CFG-09")
@pytest.mark.contract("POL-03")
def test_a_default_that_counts_at_run_time_is_told() -> None:
    assert "Default at run time, where nothing is configured: 100." in explain("nodes[].providers[].max_queue").doc
