import pytest

from iop_edge.config.edits import redacted
from iop_edge.config.source import Source
from tests.unit.config.loading import BASE

HASH = "ac94482c23da1158bd9b466b3ebaa85191a46a8f915fd0cf4fa47b1fbeb5d6b2"


def token(text: str) -> str:
    return f"openai:\n  principal_tokens:\n    - {{token_ref: t, token_hash_sha256: {text}, principal_ref: x}}\n"


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nodes: [{token: s3cr3t}] # c", 'nodes: [{token: "<redacted>"}] # c'),
        ("nodes: [{token: '${env:T}'}]", "nodes: [{token: '${env:T}'}]"),
        ("nodes: [{token: '${env:T:-s3cr3t}'}]", 'nodes: [{token: "<redacted>"}]'),
        ("nodes:\n  - token: |\n      s3cr3t\n    id: n", 'nodes:\n  - token: "<redacted>"\n    id: n'),
        ("nodes: [{token: &t s3cr3t}, {token: *t}]", 'nodes: [{token: &t "<redacted>"}, {token: *t}]'),
        ("x-t: &t s3cr3t\nnodes: [{token: *t, alias: *t}]", 'x-t: &t "<redacted>"\nnodes: [{token: *t, alias: *t}]'),
        ("x-owner: me\n$schema: s.json", "x-owner: me\n$schema: s.json"),
        ("secrets: {key: [s3cr3t]}", 'secrets: {key: ["<redacted>"]}'),
        ("secrets: {s3cr3t: [a]}", 'secrets: {"<redacted>": ["<redacted>"]}'),
        ("secrets: {id: {s3cr3t: 1}}", 'secrets: {id: {"<redacted>": "<redacted>"}}'),
        ("nodes: [{token: {s3cr3t}}]", 'nodes: [{token: {"<redacted>"}}]'),
        ("nodes:\n  - token:\n      ? s3cr3t\n", 'nodes:\n  - token:\n      ? "<redacted>"\n'),
        (
            "nodes: [{adapters: [{headers: {A: {s3cr3t: ~}}}]}]",
            'nodes: [{adapters: [{headers: {A: {"<redacted>": ~}}}]}]',
        ),
        ("nodes:\n  - token: a\n    s3cr3t:\n", 'nodes:\n  - token: "<redacted>"\n    "<redacted>":\n'),
        ("nodes: [{token: !s3cr3t abc}]", 'nodes: [{token: "<redacted>"}]'),
        ("nodes: [{token: !s3cr3t {a: s3cr3t}, id: n}]", 'nodes: [{token: "<redacted>", id: n}]'),
        ("nodes: [{token: &s3cr3t abc}]", 'nodes: [{token: "<redacted>"}]'),
        ("nodes: [{token: &s3cr3t }]", 'nodes: [{token: "<redacted>" }]'),
        ("nodes: [{token: *s3cr3t }]", 'nodes: [{token: "<redacted>" }]'),
        ("edge: {id: e}\n---\nnodes: [{token: s3cr3t}]\n", 'edge: {id: e}\n--- "<redacted>"\n'),
        ("edge: {id: e}\n...\n---\nnodes: [{token: s3cr3t}]\n", 'edge: {id: e}\n...\n--- "<redacted>"\n'),
        ("x-n: &n {usage: 1}\nnodes: [{<<: *n}]", "x-n: &n {usage: 1}\nnodes: [{<<: *n}]"),
        ("models: [{usage_attribution: {a b: c}}]", "models: [{usage_attribution: {a b: c}}]"),
        ("nodes: [{idd: n}]", 'nodes: [{idd: "<redacted>"}]'),
        ("edge: {id: [s3cr3t]}", 'edge: {id: ["<redacted>"]}'),
        (
            "nodes: [{adapters: [{headers: {X-Tenant: t, Authorization: s3cr3t}}]}]",
            'nodes: [{adapters: [{headers: {X-Tenant: t, Authorization: "<redacted>"}}]}]',
        ),
        (
            "nodes: [{adapters: [{headers: {'Authorization:s3cr3t': }}]}]",
            'nodes: [{adapters: [{headers: {"<redacted>": }}]}]',
        ),
        (
            "nodes: [{adapters: {ollama: {base_url: http://u:s3cr3t@h}}}]",
            'nodes: [{adapters: {ollama: {base_url: "<redacted>"}}}]',
        ),
        (token("sk-s3cr3t"), token('"<redacted>"')),
        (token(HASH), token(HASH)),
        (BASE, BASE),
    ],
)
def test_value_that_may_be_a_secret_is_hidden_and_all_else_stays(text: str, expected: str) -> None:
    printed = redacted(Source("a.yaml", text.encode(), private=True))
    assert printed.text == expected
    assert printed.hidden == expected.count("<redacted>")
    assert "s3cr3t" not in printed.text + repr(printed)


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(
    "value",
    [
        "*s3cr3t",
        "&s3cr3t x",
        "!s3cr3t x",
        "!<s3cr3t> x",
        "!s3cr3t",
        "&s3cr3t !s3cr3t [s3cr3t]",
        "{&s3cr3t x: 1}",
        "&s3cr3t ${env:X}",
        '"s3cr3t',
        "[s3cr3t",
    ],
)
@pytest.mark.parametrize("before", ["", "edge: {id: x}\n---\n"])
def test_what_yaml_makes_no_value_of_is_hidden_too(before: str, value: str) -> None:
    text = f"{before}nodes:\n  - token: {value}\n    id: n\n"
    assert "s3cr3t" not in redacted(Source("a.yaml", text.encode(), private=True)).text


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(
    "text", ["s3cr3t", "[s3cr3t]", "--- &s3cr3t\n...", "&s3cr3t {}", "*s3cr3t", "@s3cr3t", "%s3cr3t"]
)
def test_of_a_file_that_is_no_mapping_nothing_is_shown(text: str) -> None:
    assert "s3cr3t" not in redacted(Source("a.yaml", text.encode())).text
