"""The certificates of a config, read anew whenever a connection is made: a renewed one needs no restart."""

from dataclasses import fields
from functools import partial

from iop_edge.config.files import FileResolver
from iop_edge.net import Tls, TlsError
from iop_edge.schema.references import FileReference, ReferenceFailure, Resolver, lookup, parse
from iop_edge.schema.values import ReadTree, Sourced, plain
from iop_edge.transport.renewal import TlsSource


def tls_source(owner: ReadTree) -> TlsSource | None:
    """Return what reads the TLS texts of a Node or of a listener; None where there are none, which means plain text."""
    given = owner.get("tls")
    return partial(_read, given, FileResolver()) if given else None


def _read(given: ReadTree, resolver: Resolver) -> Tls:
    texts = {name: _text(name, value, resolver) for name, value in given.items()}
    return Tls(**{field.name: texts.get(field.name, "") for field in fields(Tls)})


def _text(name: str, value: object, resolver: Resolver) -> str:
    parts = parse(value.reference) if isinstance(value, Sourced) else ()
    if not isinstance(value, Sourced) or not any(isinstance(part, FileReference) for part in parts):
        return str(plain(value))
    try:
        text = "".join(part if isinstance(part, str) else lookup(part, value.base_dir, resolver) for part in parts)
    except ReferenceFailure as failure:
        raise TlsError(f"tls: {name}: {failure}") from None
    if not text:
        # Half written, perhaps. Without its authorities a listener would let everybody in.
        raise TlsError(f"tls: {name}: the file is empty")
    return text
