import pytest

from iop_edge.schema import table
from iop_edge.schema.paths import ROOT
from iop_edge.schema.table import Kind


def field_at(pattern: str) -> table.Field:
    return next(leaf.field for leaf in table.leaves() if leaf.pattern == pattern)


@pytest.mark.contract("REF-02")
def test_every_leaf_of_the_config_has_a_refresh_class() -> None:
    assert [leaf.pattern for leaf in table.leaves() if leaf.field.refresh is None] == []


@pytest.mark.contract("NRM-06")
@pytest.mark.contract("CFG-09")
@pytest.mark.parametrize(
    ("pattern", "default"),
    [
        ("long_context_threshold_tokens", 100000),
        ("nodes[].agent_kind", "standard"),
        ("nodes[].runtime.concurrency", 0),
        ("nodes[].adapters[].enabled", True),
        ("nodes[].providers[].enabled", True),
        ("nodes[].providers[].priority", 0),
        ("nodes[].providers[].capacity", 1),
        ("nodes[].providers[].health.mode", "passive"),
        ("nodes[].providers[].max_queue", None),
        ("openai.provider_auth.enabled", False),
    ],
)
def test_a_default_has_the_type_of_its_field(pattern: str, default: object) -> None:
    value = field_at(pattern).default
    assert value == default
    assert type(value) is type(default)


def test_every_default_is_allowed_by_its_own_field() -> None:
    for leaf in table.leaves():
        field = leaf.field
        if field.kind is Kind.ENUM and field.default is not None:
            assert field.default in field.enum().words, leaf.pattern
        if isinstance(field.default, int):
            assert field.gte is None or field.default >= field.gte, leaf.pattern
            assert field.gt is None or field.default > field.gt, leaf.pattern


def test_every_conditional_default_names_a_bool_beside_it() -> None:
    for leaf in table.leaves():
        if leaf.field.default_if:
            assert leaf.owner.fields[leaf.field.default_if].kind is Kind.BOOL, leaf.pattern


@pytest.mark.contract("CFG-05")
@pytest.mark.parametrize(
    ("message", "identity"),
    [
        ("Node", "id"),
        ("Provider", "id"),
        ("Model", "id"),
        ("AdapterInstance", "name"),
        ("ModelRoute", "model"),
        ("PrincipalToken", "token_ref"),
        ("ModelProvider", "id"),
        ("HealthCheck", None),
    ],
)
def test_a_message_says_which_field_names_it(message: str, identity: str | None) -> None:
    field = table.message(message).identity
    assert (field.name if field else None) == identity


@pytest.mark.contract("CFG-06")
@pytest.mark.parametrize(
    ("pattern", "takes"),
    [
        ("nodes[].id", False),
        ("nodes[].providers[].adapter", False),
        ("models[].providers[].id", False),
        ("openai.provider_auth.providers[]", False),
        ("nodes[].token", True),
        ("nodes[].address", True),
        ("nodes[].providers[].capacity", True),
    ],
)
def test_what_names_or_refers_to_something_takes_no_reference(pattern: str, takes: bool) -> None:
    assert field_at(pattern).takes_references is takes


@pytest.mark.contract("CFG-03")
@pytest.mark.parametrize("message", ["Node", "AdapterInstance", "Provider"])
@pytest.mark.parametrize(
    "key", ["command", "cwd", "shell", "mode", "pty", "resume_args", "automation", "workspace_root"]
)
def test_a_legacy_key_is_known_with_what_replaced_it(message: str, key: str) -> None:
    assert table.message(message).legacy[key]


def test_the_mode_of_a_health_check_is_no_legacy_key() -> None:
    assert not table.message("HealthCheck").legacy


def test_other_spellings_of_keys_and_words_lead_to_the_field_and_the_word() -> None:
    assert table.message("Provider").keys["endpoint"].name == "base_url"
    assert table.enum("AdapterType").aliases["seulgivibe_claude"] == "openai_compat"


def test_an_enum_is_found_by_number_and_its_zero_is_no_word() -> None:
    modes = table.enum("HealthMode")
    assert [modes.by_number[number].word for number in sorted(modes.by_number)] == ["none", "passive", "active"]
    assert 0 not in modes.by_number


@pytest.mark.parametrize("find", [table.message, table.enum])
def test_a_name_that_is_not_in_the_schema_is_a_key_error(find: object) -> None:
    assert callable(find)
    with pytest.raises(KeyError):
        find("Nothing")


def test_a_pattern_has_brackets_for_every_item_and_key() -> None:
    path = ROOT.child("nodes").index(0).child("adapters").key("a").child("headers").key("X-Tenant")
    assert table.pattern(path) == "nodes[].adapters[].headers[]"


def test_a_leaf_is_where_its_pattern_says() -> None:
    for leaf in table.leaves():
        assert leaf.owner.fields[leaf.field.name] is leaf.field
        assert leaf.field.name in leaf.pattern
