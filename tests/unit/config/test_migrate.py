from functools import partial
from textwrap import dedent

import pytest

from iop_edge.config import migrate as migration
from iop_edge.config.migrate import Migration, migrate
from iop_edge.config.source import Source
from tests.support import calls_of
from tests.unit.config.loading import BASE

ADAPTER = '{name: a, type: ollama, base_url: "http://127.0.0.1:11434"}'


def migrated(text: str, *, private: bool = False) -> Migration:
    return migrate(Source("old.yaml", dedent(text).encode(), private=private))


def result(text: str) -> str:
    return migrated(text).source.data.decode()


def lost(migration: Migration) -> list[tuple[str, str]]:
    return [(violation.rule, str(violation.span)) for violation in migration.lost]


def config(adapters: str, providers: str = " []") -> str:
    """A small config with these adapters and providers, both as blocks of column 6 or in flow style."""
    return (
        'edge: {id: e}\nnodes:\n  - id: n\n    address: "127.0.0.1:7501"\n'
        f"    adapters:{adapters}\n    providers:{providers}\nmodels: []\n"
    )


@pytest.mark.contract("NRM-01")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "\n      ollama: {base_url: http://a}",
            "\n      - {name: ollama, type: ollama, base_url: http://a}",
            id="flow",
        ),
        pytest.param("\n      ollama: {}", "\n      - {name: ollama, type: ollama}", id="nothing but its type"),
        pytest.param(
            "\n      ollama: # local\n        # why\n        base_url: http://a # there",
            "\n      - name: ollama # local\n        type: ollama\n        # why\n        base_url: http://a # there",
            id="block with comments",
        ),
        pytest.param(
            "\n      ollama:\n          headers:\n              X-Tenant: |\n                  a\n\n"
            "                   b\n          # behind\n      # before\n      vllm:\n       base_url: http://b",
            "\n      - name: ollama\n        type: ollama\n        headers:\n            X-Tenant: |\n"
            "                a\n\n                 b\n        # behind\n      # before\n      - name: vllm\n"
            "        type: vllm\n        base_url: http://b",
            id="indented otherwise",
        ),
        pytest.param(
            "\n      vllm:\n        - {name: a, base_url: http://a}\n        - name: b # second\n          base_url: http://b",
            "\n      - {name: a, type: vllm, base_url: http://a}\n      - name: b # second\n        type: vllm\n"
            "        base_url: http://b",
            id="list",
        ),
        pytest.param(
            "\n      vllm: # two\n      -   base_url: http://a\n          name: a\n      - name: b",
            "\n      # two\n      -   base_url: http://a\n          name: a\n          type: vllm\n"
            "      - name: b\n        type: vllm",
            id="list that is not indented",
        ),
        pytest.param(
            "\n      vllm: [{name: a}, {name: b}]",
            "\n      - {name: a, type: vllm}\n      - {name: b, type: vllm}",
            id="list in flow style",
        ),
        pytest.param(
            "\n      vllm:\n        - base_url: http://a",
            "\n      - name: vllm\n        type: vllm\n        base_url: http://a",
            id="list of one without a name",
        ),
        pytest.param(
            " {ollama: {base_url: http://a}, vllm: [{name: a}, {name: b}]}",
            " [{name: ollama, type: ollama, base_url: http://a}, {name: a, type: vllm}, {name: b, type: vllm}]",
            id="all in flow style",
        ),
        pytest.param(" {}", " []", id="none"),
        pytest.param(
            "\n      ollama:\n        name: mine\n        base_url: http://a",
            "\n      - type: ollama\n        name: mine\n        base_url: http://a",
            id="with a name of its own",
        ),
    ],
)
def test_adapter_mapping_becomes_a_list_of_named_instances(old: str, new: str) -> None:
    assert result(config(old)) == config(new)


@pytest.mark.parametrize(
    "adapters",
    [
        "\n      ollama: *o",
        "\n      ollama: &a {base_url: http://a}\n      vllm: *a",
        "\n      <<: *m\n      ollama: {base_url: http://a}",
        "\n      ? ollama\n      : {base_url: http://a}",
        " {ollama: # here\n        {base_url: http://a}}",
    ],
    ids=["alias", "anchor", "merge", "question mark", "comment within flow"],
)
def test_form_that_cannot_be_rewritten_stays_and_is_told(adapters: str) -> None:
    text = f"x-o: &o {{base_url: http://a}}\nx-m: &m {{vllm: {{base_url: http://b}}}}\n{config(adapters)}"
    migration = migrated(text)
    assert migration.source.data.decode() == text
    assert lost(migration) == [("migrate.kept", "old.yaml:7:5")]
    assert not migration.is_complete


def test_form_behind_an_anchor_is_rewritten_where_it_is_written() -> None:
    text = f"x-m: &m {{ollama: {{base_url: http://a}}}}\n{config(' *m')}"
    expected = f"x-m: &m [{{name: ollama, type: ollama, base_url: http://a}}]\n{config(' *m')}"
    assert result(text) == expected


@pytest.mark.contract("NRM-02")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "\n      - {id: p, type: vllm, category: api, models: [m], endpoint: http://a} # e",
            "\n      - {id: p, type: vllm, category: api, models: [m], base_url: http://a} # e",
        ),
        ('\n      - id: p\n        "endpoint": http://a', "\n      - id: p\n        base_url: http://a"),
    ],
)
def test_other_spelling_of_a_key_becomes_the_name_of_the_field(old: str, new: str) -> None:
    assert result(config(" []", old)) == config(" []", new)


@pytest.mark.contract("CFG-03")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "\n      - id: p\n        cwd: /x # here\n        type: ollama",
            "\n      - id: p\n        # cwd was removed: WHY # here\n        type: ollama",
            id="scalar with a comment behind it",
        ),
        pytest.param(
            "\n      - command:\n          - a\n          - |\n            b\n\n"
            "        args: [x,\n          y]\n        id: p",
            "\n      - # command was removed: WHY\n\n        # args was removed\n        id: p",
            id="several lines, first of the item",
        ),
        pytest.param(
            "\n      - id: p\n        env: # one\n          # two\n          A: '#no' # three\n        type: ollama",
            "\n      - id: p\n        # one\n        # two\n        # env was removed: WHY # three\n"
            "        type: ollama",
            id="comments within the value",
        ),
        pytest.param(
            "\n      - {id: p, args: [a, # one\n          b], # two\n         type: ollama}",
            "\n      # one\n      # args was removed: WHY\n      - {id: p, # two\n         type: ollama}",
            id="comments within the value in flow",
        ),
        pytest.param(
            "\n      - {shell: x, id: p, cwd: /x}",
            "\n      # shell was removed: WHY\n      # cwd was removed\n      - {id: p}",
            id="flow",
        ),
        pytest.param(
            "\n      - {id: p,\n         cwd: /x,\n         # the type\n         type: ollama,\n"
            "         shell: x, # gone\n         category: api, # kept\n         args: []\n        }",
            "\n      # cwd was removed: WHY\n      # shell was removed\n      # args was removed\n      - {id: p,\n"
            "         # the type\n         type: ollama,\n         # gone\n         category: api, # kept\n        }",
            id="flow over several lines",
        ),
    ],
)
def test_legacy_key_leaves_a_comment_and_is_told(old: str, new: str) -> None:
    migration = migrated(config(" []", old))
    why = migration.lost[0].hint
    assert migration.source.data.decode() == config(" []", new.replace("WHY", why))
    assert {rule for rule, _ in lost(migration)} == {"field.legacy"}
    assert not migration.is_complete


@pytest.mark.contract("CFG-03", "CFG-08")
def test_legacy_key_is_told_at_its_old_place_and_without_its_value() -> None:
    migration = migrated(config(" []", "\n      - id: p\n        env: {KEY: s3cr3t}\n        tty: true"))
    assert lost(migration) == [("field.legacy", "old.yaml:8:9"), ("field.legacy", "old.yaml:9:9")]
    told = [str(violation) for violation in migration.lost] + [shown.text for shown in migration.excerpts.values()]
    assert "s3cr3t" not in migration.source.data.decode() + "".join(told) + repr(migration)


@pytest.mark.contract("VAL-03", "VAL-09")
def test_bare_type_name_becomes_the_name_of_the_instance() -> None:
    routes = "openai: {model_routes: [{model: r, adapter: ollama, target: m}]}\n"
    text = BASE.replace("adapter: a,", "adapter: ollama,") + routes
    assert result(text) == BASE + routes.replace("adapter: ollama", "adapter: a")


def test_bare_type_name_that_is_ambiguous_stays_and_is_told() -> None:
    text = config(
        '\n      - {name: a, type: ollama, base_url: "http://127.0.0.1:1"}\n'
        '      - {name: b, type: ollama, base_url: "http://127.0.0.1:2"}',
        "\n      - {id: p, type: ollama, category: api, adapter: ollama, models: [m]}",
    )
    migration = migrated(text)
    assert migration.source.data.decode() == text
    assert [violation.rule for violation in migration.report.violations] == ["ref.ambiguous"]


@pytest.mark.contract("NRM-03")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            ("\n      - {name: c, type: seulgivibe_claude, base_url: http://a}", " []"),
            ("\n      - {name: c, type: openai_compat, provider: seulgivibe_claude, base_url: http://a}", " []"),
            id="instance",
        ),
        pytest.param(
            ("\n      - {name: c, type: seulgivibe_claude, provider: x, base_url: http://a}", " []"),
            ("\n      - {name: c, type: openai_compat, provider: x, base_url: http://a}", " []"),
            id="instance with a label",
        ),
        pytest.param(
            (
                "\n      - name: c\n        type: openai_compat # any\n        base_url: http://a",
                "\n      - {id: p, type: seulgivibe_openai, category: api, adapter: c, models: [m]}",
            ),
            (
                (
                    "\n      - name: c\n        type: openai_compat # any\n        provider: seulgivibe_openai\n"
                    "        base_url: http://a"
                ),
                "\n      - {id: p, type: openai_compat, category: api, adapter: c, models: [m]}",
            ),
            id="provider on an instance",
        ),
        pytest.param(
            (" []", "\n      - id: p\n        type: seulgivibe_claude # c\n        base_url: http://a"),
            (
                " []",
                (
                    "\n      - id: p\n        type: openai_compat # c\n        provider: seulgivibe_claude\n"
                    "        base_url: http://a"
                ),
            ),
            id="provider with a backend of its own",
        ),
        pytest.param(
            ("\n      seulgivibe_claude:\n        base_url: http://a", " []"),
            (
                (
                    "\n      - name: seulgivibe_claude\n        type: openai_compat\n"
                    "        provider: seulgivibe_claude\n        base_url: http://a"
                ),
                " []",
            ),
            id="mapping form",
        ),
    ],
)
def test_alias_of_a_type_becomes_the_type_and_the_label(old: tuple[str, str], new: tuple[str, str]) -> None:
    assert result(config(*old)) == config(*new)


def test_alias_of_a_provider_whose_instance_is_elsewhere_stays_and_is_told() -> None:
    text = config(" []", "\n      - {id: p, type: seulgivibe_claude, category: api, adapter: c, models: [m]}")
    migration = migrated(text)
    assert migration.source.data.decode() == text
    assert lost(migration) == [("migrate.kept", "old.yaml:7:23")]


def test_aliases_that_disagree_on_one_instance_stay() -> None:
    text = config(
        "\n      - {name: c, type: openai_compat, base_url: http://a}",
        "\n      - {id: p, type: seulgivibe_claude, category: api, adapter: c, models: [m]}"
        "\n      - {id: q, type: seulgivibe_openai, category: api, adapter: c, models: [m]}",
    )
    migration = migrated(text)
    assert migration.source.data.decode() == text
    assert [rule for rule, _ in lost(migration)] == ["migrate.kept", "migrate.kept"]


def test_current_file_stays_as_it_is() -> None:
    text = "# c\n" + BASE.replace("models: [m]", "models: [m], health: passive").replace("[p]", "{p: m}")
    migration = migrated(text)
    assert migration.is_complete
    assert not migration.is_changed
    assert migration.source.data.decode() == text


@pytest.mark.case("Y9")
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_line_breaks_and_byte_order_mark_stay(line_break: str, bom: str) -> None:
    old = config("\n      ollama:\n        base_url: http://한국.test # 주석")
    new = config("\n      - name: ollama\n        type: ollama\n        base_url: http://한국.test # 주석")
    data = (bom + old.replace("\n", line_break)).encode()
    assert migrate(Source("old.yaml", data)).source.data == (bom + new.replace("\n", line_break)).encode()


def test_faults_of_the_file_do_not_hinder_and_are_in_the_report() -> None:
    text = config("\n      ollama: {base_url: nowhere}", "\n      - {id: p, endpoint: http://a, capasity: 1}")
    migration = migrated(text)
    assert "- {name: ollama, type: ollama, base_url: nowhere}" in migration.source.data.decode()
    assert "base_url: http://a, capasity: 1" in migration.source.data.decode()
    assert {"value.url", "field.unknown"} <= {violation.rule for violation in migration.report.violations}


@pytest.mark.contract("CFG-10")
@pytest.mark.parametrize("text", ["", "a: [", "- a\n", "a: 1\n---\nb: 2\n", "\0", "a: &a [*a]\n"])
def test_file_that_cannot_be_read_stays_and_is_reported(text: str) -> None:
    migration = migrated(text)
    assert migration.source.data.decode() == text
    assert not migration.report.ok


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "nodes: 1\n",
        "nodes: ~\n",
        "nodes: [1, {adapters: 1, providers: ~}, {adapters: [1], providers: [1, ~]}]\n",
        "nodes: [{adapters: {ollama: 1, vllm: ~}}]\n",
        "nodes: [{adapters: [{name: a, type: seulgivibe_claude}], providers: 1}]\n",
        "nodes: [{adapters: 1, providers: [{id: p, type: seulgivibe_claude}]}]\n",
        "openai: 1\nmodels: {a: b}\n",
    ],
)
def test_faults_of_the_structure_are_reported_and_the_file_stays(text: str, private: bool) -> None:
    migration = migrated(text, private=private)
    assert migration.source.data.decode() == text
    assert migration.is_complete == (private and text == "nodes: ~\n")


def test_overlay_is_only_read() -> None:
    text = "nodes:\n  - id: n\n    token: ~\n    providers:\n      - {id: p, type: seulgivibe_claude, endpoint: http://a}\n"
    migration = migrated(text, private=True)
    assert migration.source.data.decode() == text.replace("endpoint", "base_url")
    assert lost(migration) == [("migrate.kept", "old.yaml:5:23")]
    assert migration.report.ok


@pytest.mark.contract("CFG-04")
def test_at_most_a_thousand_losses_are_listed_and_all_are_counted() -> None:
    providers = "".join(f"\n      - {{id: p{number}, tty: true}}" for number in range(1200))
    migration = migrated(config(" []", providers))
    assert (len(migration.lost), migration.lost_total) == (1000, 1200)
    assert "tty:" not in migration.source.data.decode()


@pytest.mark.contract("CFG-10")
def test_what_too_many_tries_would_tell_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "_FEWEST_TRIES", 5)
    monkeypatch.setattr(migration, "_MOST_TRIED", 0)
    # An anchor keeps the form of two Nodes; what is found sound before the tries are used up is carried over.
    forms = ["&b {base_url: http://a}", "*b", *["{base_url: http://a}"] * 4]
    nodes = (
        f"\n  - {{id: n{place}, address: '127.0.0.1:{place + 1}', adapters: {{vllm: {form}}}}}"
        for place, form in enumerate([*forms[2:], *forms[:2]])
    )
    outcome = migrated(f"edge: {{id: e}}\nnodes:{''.join(nodes)}\n")
    listed = outcome.source.data.decode().count("adapters: [")
    assert 0 < listed < len(forms)
    assert len(outcome.lost) == len(forms) - listed
    assert outcome.report.ok
    again = migrate(outcome.source)
    assert again.source.data.decode().count("adapters: [") >= listed


@pytest.mark.contract("CFG-10")
def test_cost_of_a_migration_grows_with_the_file_and_no_faster() -> None:
    def migrated_fleet(size: int) -> Migration:
        providers = "".join(
            f"\n      - {{id: p{number}, type: seulgivibe_claude, category: api, endpoint: 'http://a', models: [m]}}"
            for number in range(size)
        )
        return migrated(config("\n      ? ollama\n      : {base_url: http://a}", providers))

    assert migrated_fleet(3).is_changed
    assert calls_of(partial(migrated_fleet, 400)) < 5 * calls_of(partial(migrated_fleet, 100))
