import pytest

from iop_edge.schema.paths import ROOT, Path, schema_names


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (ROOT, ""),
        (ROOT.child("nodes"), "nodes"),
        (ROOT.child("nodes").index(2).child("capacity"), "nodes[2].capacity"),
        (ROOT.child("nodes").key("gpu-a").child("alias"), "nodes[gpu-a].alias"),
        (ROOT.child("headers").key("X-Tenant"), "headers[X-Tenant]"),
        (ROOT.child("models").key("Qwen/Qwen3:30b@v1.5_x+y"), "models[Qwen/Qwen3:30b@v1.5_x+y]"),
        (ROOT.child("models").key("[odd]"), 'models["[odd]"]'),
        (ROOT.child("models").key('say "hi"'), r'models["say \"hi\""]'),
        (ROOT.child("models").key("서울"), 'models["서울"]'),
        (ROOT.child("models").key(""), 'models[""]'),
    ],
)
@pytest.mark.contract("REF-01")
def test_a_path_is_written_with_dots_indexes_and_keys(path: Path, text: str) -> None:
    assert str(path) == text


def test_a_key_that_looks_like_an_index_is_another_path_than_the_index() -> None:
    assert ROOT.child("nodes").key("0") != ROOT.child("nodes").index(0)


def test_paths_of_equal_steps_are_equal_and_serve_as_keys() -> None:
    assert {ROOT.child("nodes").index(1): "found"}[ROOT.child("nodes").index(1)] == "found"


def test_the_steps_of_a_path_are_its_prefixes_from_the_root_on() -> None:
    path = ROOT.child("nodes").index(0).child("id")
    assert [str(step) for step in path.steps()] == ["nodes", "nodes[0]", "nodes[0].id"]


def test_the_names_of_a_path_leave_out_indexes_and_keys() -> None:
    assert ROOT.child("nodes").key("gpu-a").child("adapters").index(3).child("type").names() == (
        "nodes",
        "adapters",
        "type",
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("nodes", ("nodes",)),
        ("nodes[].address", ("nodes", "address")),
        ("nodes[12].address", ("nodes", "address")),
        ("nodes[gpu-a].address", ("nodes", "address")),
        ("nodes.address", ("nodes", "address")),
        (r'models["say \"hi\""].id', ("models", "id")),
        ("$schema", ("$schema",)),
    ],
)
def test_a_path_is_read_in_each_spelling_that_people_use(text: str, names: tuple[str, ...]) -> None:
    assert schema_names(text) == names


@pytest.mark.parametrize("text", ["nodes..address", "nodes[", "nodes[a b]", "a b", "nodes.", "[[", 'nodes["x]'])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no path"):
        schema_names(text)
