"""Files as trees: the shapes that a message may be written in, and what is reported of others."""

from typing import Any

import pytest

from iop_edge.config.events import ParserFactory
from iop_edge.config.marks import INVALID, UNRESOLVED, UNSET, Sourced
from iop_edge.errors import MAX_LISTED
from iop_edge.schema import table
from tests.unit.config.decoding import both_parsers, decoded, disclosed, found, tree
from tests.unit.config.loading import check


def provider(text: str) -> str:
    return f"nodes: [{{providers: [{text}]}}]"


def adapters(text: str) -> Any:
    return tree(f"nodes: [{{adapters: {text}}}]")["nodes"][0]["adapters"]


def test_tree_holds_what_the_file_holds_and_nothing_else() -> None:
    text = """
edge: {id: e}
long_context_threshold_tokens: 5
listen: {}
nodes:
  - id: n
    providers:
      - {id: p, enabled: false, models: [a, b], lifecycle_capabilities: [pull, load], health: {mode: active}}
    adapters: []
"""
    assert tree(text) == {
        "edge": {"id": "e"},
        "long_context_threshold_tokens": 5,
        "listen": {},
        "nodes": [
            {
                "id": "n",
                "providers": [
                    {
                        "id": "p",
                        "enabled": False,
                        "models": ["a", "b"],
                        "lifecycle_capabilities": ["pull", "load"],
                        "health": {"mode": "active"},
                    }
                ],
                "adapters": [],
            }
        ],
    }


@pytest.mark.contract("NRM-01")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{ollama: {}}", [{"type": "ollama", "name": "ollama"}]),
        ("{ollama: {name: x}}", [{"type": "ollama", "name": "x"}]),
        ("{ollama: {name: ~}}", [{"type": "ollama", "name": "ollama"}]),
        ("{ollama: [{}]}", [{"type": "ollama", "name": "ollama"}]),
        ("{ollama: []}", []),
        ("{}", []),
        ("{seulgivibe_claude: {}}", [{"type": "seulgivibe_claude", "name": "seulgivibe_claude"}]),
        (
            "{vllm: [{name: b}, {name: a}], cli: {profile: p}}",
            [
                {"type": "vllm", "name": "b"},
                {"type": "vllm", "name": "a"},
                {"type": "cli", "name": "cli", "profile": "p"},
            ],
        ),
        ("{vllm: [{}, {name: a}]}", [{"type": "vllm"}, {"type": "vllm", "name": "a"}]),
    ],
)
def test_adapters_as_a_mapping(text: str, expected: list[dict[str, Any]]) -> None:
    assert adapters(text) == expected


@both_parsers
def test_mapping_forms_take_anchors_and_aliases(parser: ParserFactory) -> None:
    text = """
x-one: &one {enabled: false}
x-many: &many [{name: a}, *one, &b {name: b}]
nodes:
  - adapters: {ollama: *one, vllm: *many, cli: &c {profile: p}, llama_cpp: [*b, *c]}
"""
    assert tree(text, parser)["nodes"][0]["adapters"] == [
        {"type": "ollama", "enabled": False, "name": "ollama"},
        {"type": "vllm", "name": "a"},
        {"type": "vllm", "enabled": False},
        {"type": "vllm", "name": "b"},
        {"type": "cli", "profile": "p", "name": "cli"},
        {"type": "llama_cpp", "name": "b"},
        {"type": "llama_cpp", "profile": "p"},
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{tgi: {}}", ("value.enum", "nodes[0].adapters[0].type", 1, 21)),
        ("{ollama: {type: vllm}}", ("field.duplicate", "nodes[0].adapters[0].type", 1, 30)),
        ("{ollama: 5}", ("field.type", "nodes[0].adapters[0]", 1, 29)),
        ("{ollama: [[{}]]}", ("field.type", "nodes[0].adapters[0]", 1, 30)),
        ("{ollama: {base: x}}", ("field.unknown", "nodes[0].adapters[0].base", 1, 30)),
        ("{ollama: [{}, {args: x}]}", ("field.legacy", "nodes[0].adapters[1].args", 1, 35)),
        ("{ollama: {}, ollama: {}}", ("yaml.duplicate_key", "nodes[0].adapters[ollama]", 1, 33)),
        ("5", ("field.type", "nodes[0].adapters", 1, 20)),
    ],
)
def test_adapters_as_a_mapping_that_is_none(text: str, place: tuple[str, str, int, int]) -> None:
    assert found(f"nodes: [{{adapters: {text}}}]") == [place]


@pytest.mark.contract("NRM-08")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a, b]", [{"id": "a"}, {"id": "b"}]),
        ("[a, {id: b, target: t}]", [{"id": "a"}, {"id": "b", "target": "t"}]),
        ("{a: t, b: u}", [{"id": "a", "target": "t"}, {"id": "b", "target": "u"}]),
        ("{1: t}", [{"id": "1", "target": "t"}]),
        ("{}", []),
        ("[]", []),
    ],
)
def test_providers_of_a_model(text: str, expected: list[dict[str, str]]) -> None:
    assert tree(f"models: [{{providers: {text}}}]")["models"][0]["providers"] == expected


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{a: {target: t}}", ("field.type", "models[0].providers[0].target", 1, 26)),
        ("{a: 1.10}", ("field.type", "models[0].providers[0].target", 1, 26)),
        ("[1.10]", ("field.type", "models[0].providers[0].id", 1, 23)),
        ("[[a]]", ("field.type", "models[0].providers[0]", 1, 23)),
        ("a", ("field.type", "models[0].providers", 1, 22)),
    ],
)
def test_providers_of_a_model_in_a_wrong_form(text: str, place: tuple[str, str, int, int]) -> None:
    assert found(f"models: [{{providers: {text}}}]") == [place]


@pytest.mark.contract("NRM-06")
def test_scalar_in_place_of_a_message() -> None:
    assert tree(provider("{health: none}"))["nodes"][0]["providers"] == [{"health": {"mode": "none"}}]
    assert found(provider("{health: sometimes}")) == [("value.enum", "nodes[0].providers[0].health.mode", 1, 31)]
    assert found(provider("{health: [none]}")) == [("field.type", "nodes[0].providers[0].health", 1, 31)]


def test_other_name_of_a_field() -> None:
    assert tree(provider("{endpoint: http://h}"))["nodes"][0]["providers"] == [{"base_url": "http://h"}]


@pytest.mark.parametrize("text", ["{endpoint: http://h, base_url: http://h}", "{base_url: http://h, endpoint: ~}"])
def test_two_names_of_a_field(text: str) -> None:
    ((rule, path, *_),) = found(provider(text))
    assert (rule, path) == ("field.duplicate", "nodes[0].providers[0].base_url")


@pytest.mark.contract("CFG-06")
@pytest.mark.case("Y5")
@pytest.mark.parametrize(
    ("text", "path", "reference"),
    [
        ("edge: {name: a$$b}", ("edge", "name"), "a$$b"),
        ("edge: {name: '${env:A}'}", ("edge", "name"), "${env:A}"),
        ("bootstrap:\n  enabled: ${env:A:-true}", ("bootstrap", "enabled"), "${env:A:-true}"),
        ('long_context_threshold_tokens: "${env:N}"', ("long_context_threshold_tokens",), "${env:N}"),
        ("logging:\n  level: ${env:L}", ("logging", "level"), "${env:L}"),
        ("models:\n- usage_attribution:\n    a: ${file:x}", ("models", 0, "usage_attribution", "a"), "${file:x}"),
        ("nodes:\n- providers:\n  - models:\n    - ${oops", ("nodes", 0, "providers", 0, "models", 0), "${oops"),
        ("nodes:\n- providers:\n  - health: ${env:H}", ("nodes", 0, "providers", 0, "health", "mode"), "${env:H}"),
        ("models: [{providers: {p: '${env:T}'}}]", ("models", 0, "providers", 0, "target"), "${env:T}"),
    ],
)
def test_scalar_with_a_reference_waits_for_it(text: str, path: tuple[str | int, ...], reference: str) -> None:
    value: Any = tree(text)
    for step in path:
        value = value[step]
    assert isinstance(value, Sourced)
    assert (value.reference, value.value, value.base_dir) == (reference, UNRESOLVED, "conf")


def test_reference_within_braces_gets_a_hint() -> None:
    (finding,) = decoded("nodes: [{token: ${env:A}}]").findings
    assert finding.rule == "yaml.syntax"
    assert "quotes" in finding.hint


@pytest.mark.contract("NRM-07")
@pytest.mark.parametrize(
    "text",
    [
        "nodes: [{token: <redacted>}]",
        'nodes: [{token: "<redacted>"}]',
        "nodes: [{providers: [{models: [<redacted>]}]}]",
        "nodes: [{adapters: [{headers: {X: <redacted>}}]}]",
        "long_context_threshold_tokens: <redacted>",
        "logging: {level: '<redacted>'}",
    ],
)
def test_redacted_value_is_none(text: str) -> None:
    assert [rule for rule, *_ in found(text)] == ["value.redacted"]


@pytest.mark.contract("CFG-05")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("edge: {name: ~}", {"edge": {"name": UNSET}}),
        ("edge:", {"edge": UNSET}),
        ("nodes: null", {"nodes": UNSET}),
        ("models: [{usage_attribution: {a: ~}}]", {"models": [{"usage_attribution": {"a": UNSET}}]}),
        ("models: [{providers: {p: ~}}]", {"models": [{"providers": [{"id": "p", "target": UNSET}]}]}),
        ("nodes: [{adapters: {cli: {name: ~}}}]", {"nodes": [{"adapters": [{"type": "cli", "name": "cli"}]}]}),
        ("nodes: [{providers: [{health: ~}]}]", {"nodes": [{"providers": [{"health": UNSET}]}]}),
    ],
)
def test_null_in_a_private_overlay_unsets(text: str, expected: dict[str, Any]) -> None:
    assert tree(text, private=True) == expected


def test_null_item_is_an_error_in_a_private_overlay_too() -> None:
    assert found("nodes: [~]", private=True) == [("value.null", "nodes[0]", 1, 9)]


def test_value_that_was_reported_is_marked_and_keeps_the_places_of_others() -> None:
    outcome = decoded(provider("{id: 1.10, models: [a, 2, c], capacity: x, health: maybe}, 7, {id: p}"))
    assert outcome.tree is not None
    assert outcome.tree["nodes"][0]["providers"] == [
        {"id": INVALID, "models": ["a", INVALID, "c"], "capacity": INVALID, "health": {"mode": INVALID}},
        INVALID,
        {"id": "p"},
    ]


@pytest.mark.contract("CFG-02")
@pytest.mark.case("Y2")
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("edge: []", ("field.type", "edge", 1, 7)),
        ("edge: text", ("field.type", "edge", 1, 7)),
        ("nodes: {}", ("field.type", "nodes", 1, 8)),
        ("nodes: text", ("field.type", "nodes", 1, 8)),
        ("nodes: [text]", ("field.type", "nodes[0]", 1, 9)),
        ("nodes: [[]]", ("field.type", "nodes[0]", 1, 9)),
        ("edge: {id: {a: b}}", ("field.type", "edge.id", 1, 12)),
        ("edge: {id: [a]}", ("field.type", "edge.id", 1, 12)),
        (provider("{models: a}"), ("field.type", "nodes[0].providers[0].models", 1, 31)),
        (provider("{models: {a: b}}"), ("field.type", "nodes[0].providers[0].models", 1, 31)),
        (provider("{models: [{a: b}]}"), ("field.type", "nodes[0].providers[0].models[0]", 1, 32)),
        (provider("{headers: [a]}"), ("field.type", "nodes[0].providers[0].headers", 1, 32)),
        (provider("{headers: {X: [a]}}"), ("field.type", "nodes[0].providers[0].headers[X]", 1, 36)),
        (provider("{capacity: [1]}"), ("field.type", "nodes[0].providers[0].capacity", 1, 33)),
    ],
)
def test_wrong_kind_of_node(text: str, place: tuple[str, str, int, int]) -> None:
    assert found(text) == [place]


@pytest.mark.contract("CFG-01")
@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("opnai: {}", "did you mean openai?"),
        (provider("{capasity: 1}"), "did you mean capacity?"),
        ("nodes: [{adress: a}]", "did you mean address?"),
        ("nodes: [{capacity: 1}]", "belongs under nodes[].providers[]"),
        ("provider_auth: {}", "belongs under openai"),
        ("edge: {long_context_threshold_tokens: 1}", "belongs under the top level"),
        ("nodes: [{headers: {}}]", "nodes[].adapters[] or nodes[].providers[]"),
    ],
)
@pytest.mark.case("A8")
def test_unknown_key_says_what_was_meant(text: str, hint: str) -> None:
    (finding,) = decoded(text).findings
    assert finding.rule == "field.unknown"
    assert hint in finding.hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("edge: {ID: e}", "did you mean id?"),
        ("nodes: [{adapters: [{base-Url: a}]}]", "did you mean base_url?"),
        ("nodes: [{adapters: [{url: a}]}]", "did you mean base_url?; url belongs under control_plane"),
        ("nodes: [{nme: a}]", ""),
        ("nodes: [{headers: {}}]", "headers belongs under nodes[].adapters[] or nodes[].providers[]"),
        (provider("{model: x}"), "did you mean models?; model belongs under openai.model_routes[]"),
    ],
)
def test_hint_says_which_key_was_meant_and_where_the_written_one_belongs(text: str, hint: str) -> None:
    (finding,) = decoded(text).findings
    assert finding.hint == hint


@both_parsers
@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(
    "text",
    [
        "openai: {principal_tokens: [{token_hash_sha256s3cr3t}]}",
        "openai: {principal_tokens: [{token_hash_sha256s3cr3t: }]}",
        "openai:\n  principal_tokens:\n    - token_refs3cr3t:\n",
        "nodes: [{tokens3cr3t}]",
        "nodes: [{s3cr3t}]",
        "nodes: [{token:s3cr3t}]",
    ],
)
def test_key_that_a_value_ran_into_is_not_shown(text: str, parser: ParserFactory) -> None:
    (finding,) = disclosed(text, parser)
    assert finding.rule == "field.unknown"
    assert "s3cr3t" not in repr((finding, check(text + "\n").violations))


@pytest.mark.parametrize("key", ["adress", "tokn", "headers"])
def test_key_without_a_value_that_is_no_longer_than_what_was_meant_is_shown(key: str) -> None:
    (finding,) = disclosed(f"nodes: [{{{key}}}]")
    assert f'"{key}"' in finding.message


def test_key_like_nothing_gets_no_hint() -> None:
    (finding,) = decoded("zzzzzz: 1").findings
    assert (finding.rule, finding.hint) == ("field.unknown", "")


LEGACY = [
    (template, message, key)
    for message, template in {
        "Node": "nodes: [{%s: {x: 1.10}}]",
        "AdapterInstance": "nodes: [{adapters: [{%s: [a]}]}]",
        "Provider": "nodes: [{providers: [{%s: ~}]}]",
    }.items()
    for key in table.message(message).legacy
]


@pytest.mark.contract("CFG-03")
@pytest.mark.case("A10")
@pytest.mark.parametrize(("template", "message", "key"), LEGACY)
def test_legacy_key_says_what_replaced_it(template: str, message: str, key: str) -> None:
    text = template % key
    (finding,) = decoded(text).findings
    assert (finding.rule, finding.line, finding.column) == ("field.legacy", 1, text.index(key + ":") + 1)
    assert finding.hint == table.message(message).legacy[key]


@pytest.mark.contract("CFG-03")
def test_legacy_key_is_reported_beside_other_faults() -> None:
    text = "edge: 5\nnodes: [{providers: [{command: x, capacity: yes, command: y}]}]\nedge: {}\n"
    assert [(rule, line, column) for rule, _, line, column in found(text)] == [
        ("field.type", 1, 7),
        ("field.legacy", 2, 23),
        ("field.type", 2, 45),
        ("field.legacy", 2, 50),
        ("yaml.duplicate_key", 3, 1),
    ]


@pytest.mark.contract("CFG-03", "CFG-04")
def test_faults_in_a_repeated_section_are_reported_too() -> None:
    text = "nodes: [{id: n}]\nnodes: [{command: x, id: 1.10}]\n"
    assert [rule for rule, *_ in found(text)] == ["yaml.duplicate_key", "field.legacy", "field.type"]
    outcome = decoded(text)
    assert outcome.tree == {"nodes": [{"id": "n"}]}


@pytest.mark.contract("CFG-03")
def test_words_of_legacy_keys_are_fine_elsewhere() -> None:
    text = "models: [{usage_attribution: {command: x, env: y}}]\nnodes: [{providers: [{health: {mode: none}}]}]"
    assert decoded(text).findings == []


@pytest.mark.contract("CFG-04")
def test_findings_are_in_order_of_position() -> None:
    text = "x-p: &p {capacity: x}\nnodes: [{providers: [{idd: a, <<: *p, priority: y}]}]\nopnai: {}\n"
    places = [(line, column) for _, _, line, column in found(text)]
    assert places == sorted(places)
    assert len(places) == 4


@pytest.mark.contract("CFG-04")
def test_findings_before_a_syntax_error_are_kept() -> None:
    outcome = decoded("opnai: {}\nnodes: [\n")
    assert ([finding.rule for finding in outcome.findings], outcome.tree) == (["field.unknown", "yaml.syntax"], None)


@pytest.mark.contract("CFG-04")
def test_all_findings_are_counted_and_the_first_are_listed() -> None:
    outcome = decoded("".join(f"k{number}: 1\n" for number in range(MAX_LISTED + 500)))
    assert (len(outcome.findings), outcome.total) == (MAX_LISTED, MAX_LISTED + 500)
    assert outcome.findings[-1].line == MAX_LISTED


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(
    "text",
    [
        "nodes: [{token: [s3cr3t]}]",
        "nodes: [{token: {s3cr3t: a}}]",
        "nodes: [{token: *s3cr3t}]",
        "nodes: [{token: !s3cr3t a}]",
        "nodes: [{token: !s3!cr3t a}]",
        "nodes: [{token:s3cr3t}]",
        "nodes:\n- token:s3cr3t\n",
        "nodes: [{token s3cr3t}]",
        "nodes: [{token s3cr3t: x}]",
        "nodes: [{token: , s3cr3t}]",
        "nodes: [{token: x, ? s3cr3t}]",
        "nodes: [{tokn: s3cr3t}]",
        "nodes: [{command: s3cr3t}]",
        "nodes: [{adapters: [{headers: s3cr3t}]}]",
        "nodes: [{adapters: [{headers: {Authorization:s3cr3t}}]}]",
        "nodes: [{adapters: [{headers: {Authorization: [s3cr3t]}}]}]",
        "nodes: s3cr3t",
        "openai: [s3cr3t]",
        "s3cr3t",
        "nodes: [{token: 's3cr3t",
        "%TAG !s3cr3t! a\n%TAG !s3cr3t! a\n---\na: b",
        'nodes: [{token: "s3cr3t\\q"}]',
        "nodes: [{token: s3cr3t: x}]",
        "nodes: [{adapters: [{type: openai_compat, base_url: {s3cr3t: a}}]}]",
    ],
)
@both_parsers
def test_no_finding_shows_a_value_that_may_be_a_secret(text: str, parser: ParserFactory) -> None:
    outcome = decoded(text, parser)
    assert outcome.total
    for finding in disclosed(text, parser):
        assert "s3cr3t" not in f"{finding.path} {finding.message} {finding.hint}"
    assert "s3cr3t" not in repr(outcome.source)
