"""Addresses and TLS contexts."""

import ssl

import pytest

from iop_edge.net import (
    MAX_UNIX_PATH,
    Address,
    AddressError,
    Tls,
    TlsError,
    client_context,
    overlap,
    parse_address,
    server_context,
)
from tests.pki import CA, NODE, STRANGER


@pytest.mark.contract("VAL-10")
@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:7400", Address(host="127.0.0.1", port=7400)),
        ("edge.example.net:1", Address(host="edge.example.net", port=1)),
        ("localhost:0", Address(host="localhost", port=0)),
        ("host:65535", Address(host="host", port=65535)),
        ("[::1]:7400", Address(host="::1", port=7400)),
        ("[2001:db8:0:0::1]:7400", Address(host="2001:db8::1", port=7400)),
        ("unix:/run/edge/admin.sock", Address(path="/run/edge/admin.sock")),
        ("unix:relative.sock", Address(path="relative.sock")),
        ("unix:" + "p" * MAX_UNIX_PATH, Address(path="p" * MAX_UNIX_PATH)),
    ],
)
def test_address_is_read(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.contract("VAL-10")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        ":7400",
        "host:",
        "host:port",
        "host:-1",
        "host:+1",
        "host:65536",
        "host:\u0667",
        "host:1e3",
        "::1:7400",
        "[::1]",
        "[::1:7400",
        "[host]:7400",
        "[127.0.0.1]:7400",
        "ho st:7400",
        "-host:7400",
        "ho..st:7400",
        "http://host:7400",
        "h" * 64 + ":1",
        "unix:",
        "unix:/nul\0",
        "unix:/a\n",
        "unix:/\x1b[2J",
        "unix:/\x7f",
        "unix:/\x9b",
        "unix:" + "p" * (MAX_UNIX_PATH + 1),
        "unix:" + "é" * 54,
    ],
)
def test_text_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(AddressError):
        parse_address(text)


@pytest.mark.parametrize("text", ["http://127.0.0.1:7400", "grpc://edge:1", "//edge:1"])
def test_scheme_before_an_address_is_named_as_its_fault(text: str) -> None:
    with pytest.raises(AddressError, match="without a scheme"):
        parse_address(text)


@pytest.mark.parametrize("text", ["127.0.0.1:7400", "[::1]:7400", "unix:/run/a.sock", "edge.example.net:1"])
def test_address_prints_as_it_is_written(text: str) -> None:
    assert str(parse_address(text)) == text


@pytest.mark.parametrize(
    ("text", "is_local"),
    [
        ("127.0.0.1:1", True),
        ("127.8.8.8:1", True),
        ("[::1]:1", True),
        ("[::ffff:127.0.0.1]:1", True),
        ("[::ffff:10.0.0.1]:1", False),
        ("localhost:1", True),
        ("LOCALHOST.:1", True),
        ("unix:/a", True),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("10.0.0.1:1", False),
        ("node.test:1", False),
    ],
)
def test_only_loopback_and_unix_sockets_are_local(text: str, *, is_local: bool) -> None:
    assert parse_address(text).is_local is is_local


@pytest.mark.contract("VAL-10")
@pytest.mark.parametrize(
    ("first", "second", "clash"),
    [
        ("127.0.0.1:1", "127.0.0.1:1", True),
        ("127.0.0.1:1", "127.0.0.1:2", False),
        ("127.0.0.1:1", "127.0.0.2:1", False),
        ("0.0.0.0:1", "127.0.0.1:1", True),
        ("0.0.0.0:1", "node.test:1", True),
        ("[::]:1", "127.0.0.1:1", True),
        ("0.0.0.0:1", "127.0.0.1:2", False),
        ("localhost:1", "127.0.0.1:1", True),
        ("localhost:1", "[::1]:1", True),
        ("localhost:1", "10.0.0.1:1", False),
        ("NODE.test:1", "node.test.:1", True),
        ("unix:/a", "unix:/a", True),
        ("unix:/a", "unix:/b", False),
        ("unix:/a", "unix:/./a", True),
        ("unix:/a/b", "unix://a//./b", True),
        ("unix:./a", "unix:a", True),
        ("unix:/a", "unix:a", False),
        ("unix:/a", "unix:/b/../a", False),
        ("[::ffff:127.0.0.1]:1", "127.0.0.1:1", True),
        ("[::ffff:127.0.0.1]:1", "[::1]:1", False),
        ("[::ffff:127.0.0.1]:1", "localhost:1", True),
        ("[::ffff:0.0.0.0]:1", "10.0.0.1:1", True),
        ("unix:/a", "127.0.0.1:1", False),
        ("127.0.0.1:0", "127.0.0.1:0", False),
    ],
)
def test_listeners_clash_where_one_claims_the_others_address(first: str, second: str, *, clash: bool) -> None:
    assert overlap(parse_address(first), parse_address(second)) is clash
    assert overlap(parse_address(second), parse_address(first)) is clash


def test_server_with_an_authority_asks_for_a_certificate() -> None:
    plain = server_context(Tls(cert=NODE.cert, key=NODE.key))
    mutual = server_context(Tls(ca=CA, cert=NODE.cert, key=NODE.key))
    assert plain.verify_mode is ssl.CERT_NONE
    assert mutual.verify_mode is ssl.CERT_REQUIRED


def test_client_always_verifies() -> None:
    for tls in (Tls(), Tls(ca=CA), Tls(ca=CA, cert=NODE.cert, key=NODE.key)):
        context = client_context(tls)
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.check_hostname


def test_client_trusts_the_given_authority_alone() -> None:
    assert len(client_context(Tls(ca=STRANGER)).get_ca_certs()) == 1


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(
    "tls",
    [
        Tls(cert=NODE.cert),
        Tls(key=NODE.key),
        Tls(cert="-----BEGIN CERTIFICATE-----\ns3cret\n-----END CERTIFICATE-----", key=NODE.key),
        Tls(cert=NODE.cert, key="s3cret"),
        Tls(cert=CA, key=NODE.key),
        Tls(ca="s3cret", cert=NODE.cert, key=NODE.key),
        Tls(ca="é", cert=NODE.cert, key=NODE.key),
    ],
)
def test_unusable_texts_are_refused_and_not_shown(tls: Tls) -> None:
    for make in (client_context, server_context):
        with pytest.raises(TlsError) as caught:
            make(tls)
        assert "s3cret" not in str(caught.value)
        assert caught.value.__cause__ is None


@pytest.mark.contract("CFG-08")
def test_key_is_not_in_the_repr() -> None:
    assert NODE.key not in repr(Tls(cert=NODE.cert, key=NODE.key))
    assert "PRIVATE KEY" not in repr(Tls(cert=NODE.cert, key=NODE.key))
