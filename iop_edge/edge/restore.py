"""Makes a candidate of the config of an old revision (REF-11).

History holds no raw secret. References are resolved again; a secret that stood in a private overlay is taken from the
same path of the present overlays.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import yaml

from iop_edge.config.decode import decode
from iop_edge.config.dump import yaml_json
from iop_edge.config.files import FileResolver
from iop_edge.config.layers import Layer, merge
from iop_edge.config.normalize import normalize
from iop_edge.config.pipeline import load_sources
from iop_edge.config.problems import Problems
from iop_edge.config.resolve import resolve
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from iop_edge.edge.running import ConfigFiles
from iop_edge.errors import ConfigError, Report, Span, Violation
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.redact import is_secret
from iop_edge.schema.references import Resolver, absolute_files, escape
from iop_edge.schema.values import REDACTED, ReadTree, Sourced, plain
from iop_edge.store.history import Applied


def restore(applied: Applied, secrets: ReadTree, resolver: Resolver) -> Snapshot:
    """Load the config of an old revision.

    Args:
        applied: the revision, from the history.
        secrets: a config tree that holds the present raw secrets.
        resolver: what references resolve against now.

    Raises:
        ConfigError: a secret is missing, a reference does not resolve, or the config breaks a rule of today.
    """
    # Our own dump: plain YAML without tags, so that loading it runs nothing.
    kept: dict[str, Any] = yaml.load(applied.text, yaml.CSafeLoader)
    missing = [_missing(applied.revision, path) for path in _fill(kept, table.root(), secrets, ROOT)]
    if missing:
        raise ConfigError(Report(violations=tuple(missing), total=len(missing)))
    name = f"revision {applied.revision}"
    data = yaml_json(kept).encode()
    try:
        snapshot = load_sources([Source(name, data, private=True, base_dir="/")], resolver)
    except ConfigError as error:
        found = _without_positions(error.violations, name)
        raise ConfigError(Report(found, _without_positions(error.report.warnings, name), error.total)) from None
    return Snapshot(snapshot.tree, _without_positions(snapshot.warnings, name))


def present_secrets(files: ConfigFiles) -> ReadTree:
    """Return what the private overlays hold now, normalized: paths in the history are those of a normalized config.

    An overlay that cannot be read or breaks a rule by itself is skipped, and so is a reference that does not resolve.
    """
    layers = []
    for source in files.overlays():
        decoded = decode(source)
        if decoded.tree is not None and not decoded.total:
            layers.append(Layer(decoded.tree, private=True))
    # An overlay is not a whole config: problems of the whole mean nothing here.
    ignored = Problems()
    merged = resolve(merge(layers, table.root(), ignored), table.root(), FileResolver(), ignored)
    tree, _ = normalize(merged, ignored)
    return tree


def _without_positions(violations: Iterable[Violation], name: str) -> tuple[Violation, ...]:
    """Drop positions and excerpts: the text of a revision is in no file that could be opened, and now holds secrets."""
    return tuple(replace(violation, span=Span(name)) for violation in violations)


def _missing(revision: int, path: Path) -> Violation:
    return Violation(
        "rollback.secret",
        str(path),
        None,
        f"revision {revision} had a secret here that no private overlay holds any more",
        "add it to a private overlay of the Edge and try again",
    )


def _fill(kept: dict[str, Any], message: table.Message, secrets: ReadTree, path: Path) -> Iterator[Path]:
    """Put secrets back where they were left out of a message; yield the paths of those that are missing."""
    for name, value in kept.items():
        field = message.fields[name]
        here, present = path.child(name), secrets.get(name)
        if field.is_message_list:
            yield from _fill_items(value, field.message(), present or [], here)
        elif field.is_message:
            yield from _fill(value, field.message(), present or {}, here)
        elif field.kind is table.Kind.MAP:
            yield from _fill_entries(value, field, present or {}, here)
        elif value == REDACTED:
            if _is_given(present, field):
                kept[name] = _as_written(present)
            else:
                yield here


def _fill_items(kept: list[Any], message: table.Message, present: list[Any], path: Path) -> Iterator[Path]:
    identity = message.identity
    if identity is None:
        return
    by_identity = {item[identity.name]: item for item in present if identity.name in item}
    for item in kept:
        key = item[identity.name]
        yield from _fill(item, message, by_identity.get(key, {}), path.key(key))


def _fill_entries(kept: dict[str, Any], field: table.Field, present: ReadTree, path: Path) -> Iterator[Path]:
    by_name = {key.lower(): value for key, value in present.items()}
    for key, value in kept.items():
        if value == REDACTED:
            secret = by_name.get(key.lower())
            if _is_given(secret, field, key):
                kept[key] = _as_written(secret)
            else:
                yield path.key(key)


def _is_given(present: Any, field: table.Field, map_key: str = "") -> bool:
    """Tell whether a present value is a secret: a URL without one cannot replace a URL with one."""
    value = plain(present)
    return isinstance(value, str) and is_secret(field, value, map_key)


def _as_written(secret: Any) -> str:
    if isinstance(secret, Sourced):
        return absolute_files(secret.reference, secret.base_dir)
    return escape(str(secret))
