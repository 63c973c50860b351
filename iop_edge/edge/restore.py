"""Makes a candidate of the config of an old revision (REF-11).

History holds no raw secret. What came from a reference is resolved anew; a secret that stood in a private overlay is
taken from the same path of the present config.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import yaml

from iop_edge.config.dump import yaml_json
from iop_edge.config.pipeline import load_sources
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from iop_edge.errors import ConfigError, Report, Span, Violation
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.redact import is_secret
from iop_edge.schema.references import Resolver, absolute_files, escape
from iop_edge.schema.values import REDACTED, ReadTree, Sourced, plain
from iop_edge.store.base import Applied


def restore(applied: Applied, secrets: ReadTree, resolver: Resolver) -> Snapshot:
    """Load the config of an old revision.

    Args:
        applied: the revision, as history keeps it.
        secrets: the present config, for the raw secrets that history does not keep.
        resolver: what references resolve against now.

    Raises:
        ConfigError: a secret is missing, a reference does not resolve, or the config breaks a rule of today.
    """
    # The text is a dump of our own: plain, small in its means, and without anything that a YAML loader could act on.
    kept: dict[str, Any] = yaml.load(applied.text, yaml.CSafeLoader)
    missing = [_missing(applied.revision, path) for path in _fill(kept, table.root(), secrets, ROOT)]
    if missing:
        raise ConfigError(Report(violations=tuple(missing), total=len(missing)))
    name = f"revision {applied.revision}"
    data = yaml_json(kept).encode()
    try:
        snapshot = load_sources([Source(name, data, private=True, base_dir="/")], resolver)
    except ConfigError as error:
        found = _without_places(error.violations, name)
        raise ConfigError(Report(found, _without_places(error.report.warnings, name), error.total)) from None
    return Snapshot(snapshot.tree, _without_places(snapshot.warnings, name))


def _without_places(violations: Iterable[Violation], name: str) -> tuple[Violation, ...]:
    """Name the revision alone: its text can be opened nowhere, and holds secrets now, so it has no excerpts either."""
    return tuple(replace(violation, span=Span(name)) for violation in violations)


def _missing(revision: int, path: Path) -> Violation:
    return Violation(
        "rollback.secret",
        str(path),
        None,
        f"revision {revision} had a secret here that no private overlay gives any more",
        "put it into a private overlay of the Edge and try again",
    )


def _fill(kept: dict[str, Any], message: table.Message, secrets: ReadTree, path: Path) -> Iterator[Path]:
    """Put secrets in the places of a message where they were left out; yield the paths of those that are missing."""
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
    """Tell whether a present value is a secret: a URL that holds none cannot stand for one that held one."""
    value = plain(present)
    return isinstance(value, str) and is_secret(field, value, map_key)


def _as_written(secret: Any) -> str:
    if isinstance(secret, Sourced):
        return absolute_files(secret.reference, secret.base_dir)
    return escape(str(secret))
