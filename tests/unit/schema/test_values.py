import pytest

from iop_edge.schema.values import UNRESOLVED, Sourced, plain


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (Sourced("${env:A}", "x"), Sourced("${env:B}", "x"), True),
        (Sourced("${env:A}", "x"), "x", True),
        ("x", Sourced("${env:A}", "x"), True),
        (Sourced("${env:A}", 5), 5, True),
        (Sourced("${env:A}", "x"), Sourced("${env:A}", "y"), False),
        (Sourced("${env:A}", "x"), "y", False),
        (Sourced("${env:A}", UNRESOLVED), Sourced("${env:A}", UNRESOLVED), True),
        (Sourced("${env:A}", UNRESOLVED), Sourced("${env:B}", UNRESOLVED), False),
    ],
)
def test_a_referenced_value_equals_what_it_resolved_to(left: object, right: object, equal: bool) -> None:
    assert (left == right) is equal
    if equal:
        assert hash(left) == hash(right)


@pytest.mark.contract("CFG-08")
def test_a_referenced_value_prints_as_its_reference_but_never_with_a_value() -> None:
    assert repr(Sourced("${env:KEY}", "s3cr3t")) == "Sourced(${env:KEY})"
    for reference in ("${env:KEY:-s3cr3t}", "s3cr3t${env:KEY}", "${env:A}s3cr3t", "${env:A}${env:B}"):
        assert repr(Sourced(reference, "s3cr3t")) == "Sourced(...)"


def test_plain_takes_the_reference_away() -> None:
    assert plain(Sourced("${env:A}", 5)) == 5
    assert plain(5) == 5
