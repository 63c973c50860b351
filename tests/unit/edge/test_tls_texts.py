"""Certificates of a config are what their files say when a connection is made."""

from pathlib import Path
from typing import Any

import pytest

from iop_edge.edge.running import tls_source
from iop_edge.net import Tls, TlsError
from iop_edge.schema.values import Reference

pytestmark = pytest.mark.case("R13")


def test_no_tls_is_plain_text() -> None:
    assert tls_source({}, {}) is None


def test_texts_of_the_config_are_taken_as_they_are() -> None:
    source = tls_source({"ca": "CA", "server_name": "node.test"}, {})
    assert source is not None
    assert source() == Tls(ca="CA", server_name="node.test")


def test_file_is_read_again_each_time(tmp_path: Path) -> None:
    (tmp_path / "node.pem").write_text("OLD\n", encoding="ascii")
    source = tls_source({"cert": "OLD"}, {"cert": Reference("${file:node.pem}", str(tmp_path))})
    assert source is not None
    assert source() == Tls(cert="OLD")
    (tmp_path / "node.pem").write_text("NEW\n", encoding="ascii")
    assert source() == Tls(cert="NEW")


def test_file_that_is_gone_is_told_of_by_the_field(tmp_path: Path) -> None:
    source = tls_source({"key": "s3cr3t"}, {"key": Reference("${file:node.key}", str(tmp_path))})
    assert source is not None
    with pytest.raises(TlsError, match=r"^tls: key: ") as caught:
        source()
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("field", ["ca", "cert", "key"])
def test_file_that_is_empty_is_a_fault_and_not_a_text_that_is_not_given(tmp_path: Path, field: str) -> None:
    given: Any = {field: "PEM"}
    source = tls_source(given, {field: Reference("${file:emptied.pem}", str(tmp_path))})
    assert source is not None
    (tmp_path / "emptied.pem").write_text("\n", encoding="ascii")
    with pytest.raises(TlsError, match=f"^tls: {field}: the file is empty$"):
        source()


def test_variable_of_the_environment_keeps_the_value_that_it_was_loaded_with() -> None:
    source = tls_source({"ca": "CA"}, {"ca": Reference("${env:NOWHERE_SET}")})
    assert source is not None
    assert source() == Tls(ca="CA")
