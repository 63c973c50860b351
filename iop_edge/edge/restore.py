"""Makes a candidate of the config of an old revision (REF-11).

History holds no raw secret. References are resolved again; a secret that stood in a private overlay is taken from the
same path of the present overlays.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import yaml

from iop_edge.config.decode import decode
from iop_edge.config.dump import yaml_json
from iop_edge.config.files import FileResolver
from iop_edge.config.layers import Layer, merge
from iop_edge.config.normalize import normalize
from iop_edge.config.pipeline import load_sources
from iop_edge.config.problems import Problems
from iop_edge.config.resolve import resolve, take_apart
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from iop_edge.edge.running import ConfigFiles
from iop_edge.errors import ConfigError, Report, Span, Violation
from iop_edge.rules import Rule
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.redact import is_secret
from iop_edge.schema.references import Resolver, absolute_files, escape
from iop_edge.schema.values import (
    NONE_BELOW,
    REDACTED,
    ReadTree,
    Reference,
    References,
    ReferenceTree,
    Tree,
    below,
    reference,
)
from iop_edge.store.history import Applied


def restore(applied: Applied, secrets: Mapping[Path, str], resolver: Resolver) -> Snapshot:
    """Load the config of an old revision.

    Args:
        applied: the revision, from the history.
        secrets: the present secrets, as `secrets_of` or `present_secrets` returns them.
        resolver: what references resolve against now.

    Raises:
        ConfigError: a secret is missing, a reference does not resolve, or the config breaks a rule of today.
    """
    # Our own dump: plain YAML without tags, so that loading it runs nothing.
    kept: dict[str, Any] = yaml.load(applied.text, yaml.CSafeLoader)
    missing = [_missing(applied.revision, path) for path in _fill(kept, table.root(), secrets)]
    if missing:
        raise ConfigError(Report(violations=tuple(missing), total=len(missing)))
    name = f"revision {applied.revision}"
    data = yaml_json(kept).encode()
    try:
        snapshot = load_sources([Source(name, data, private=True, base_dir="/")], resolver)
    except ConfigError as error:
        found = _without_positions(error.violations, name)
        raise ConfigError(Report(found, _without_positions(error.report.warnings, name), error.total)) from None
    return Snapshot(snapshot.tree, snapshot.references, _without_positions(snapshot.warnings, name))


def present_secrets(files: ConfigFiles) -> dict[Path, str]:
    """Return the secrets of the private overlays by path: one in a normalized config, as paths in the history are.

    An overlay that cannot be read or breaks a rule by itself is skipped, and so is a reference that does not resolve.
    """
    layers = []
    referring: set[table.Field] = set()
    for source in files.overlays():
        decoded = decode(source)
        if decoded.tree is not None and not decoded.total:
            layers.append(Layer(decoded.tree, private=True))
            referring |= decoded.referring
    # An overlay is not a whole config: problems of the whole mean nothing here.
    ignored = Problems()
    merged, places = resolve(merge(layers, table.root(), ignored), frozenset(referring), FileResolver(), ignored)
    tree, moves = normalize(merged, ignored)
    return secrets_of(tree, take_apart(tree, places, moves))


def _without_positions(violations: Iterable[Violation], name: str) -> tuple[Violation, ...]:
    """Drop positions and excerpts: the text of a revision is in no file that could be opened, and now holds secrets."""
    return tuple(replace(violation, span=Span(name)) for violation in violations)


def _missing(revision: int, path: Path) -> Violation:
    return Violation(
        Rule.ROLLBACK_SECRET,
        str(path),
        None,
        f"revision {revision} had a secret here that is no longer in any private overlay",
        "add it to a private overlay of the Edge and try again",
    )


def secrets_of(tree: ReadTree, references: References) -> dict[Path, str]:
    """Return the secrets of a config by path, as they are written: raw ones, or references that hold anywhere."""
    secrets = {}
    for leaf in _leaves(tree, table.root(), references.tree):
        value = leaf.value
        # A URL without a secret cannot stand for one that had one.
        if isinstance(value, str) and is_secret(leaf.field, value, leaf.map_key):
            found = leaf.reference
            secrets[leaf.path] = absolute_files(found.text, found.base_dir) if found else escape(value)
    return secrets


def _fill(kept: Tree, message: table.Message, secrets: Mapping[Path, str]) -> Iterator[Path]:
    """Put secrets back where they were left out of a config; yield the paths of those that are missing."""
    for leaf in _leaves(kept, message):
        if leaf.value != REDACTED:
            continue
        secret = secrets.get(leaf.path)
        if secret is None:
            yield leaf.shown_path
        else:
            leaf.owner[leaf.name] = secret


class _Leaf(NamedTuple):
    """A scalar, or a value of a map. `path` is the same for all spellings of a header's name."""

    owner: Any
    name: str
    field: table.Field
    path: Path
    shown_path: Path
    reference: Reference | None
    map_key: str = ""

    @property
    def value(self) -> Any:
        """The value."""
        return self.owner[self.name]


def _leaves(
    tree: ReadTree, message: table.Message, references: ReferenceTree = NONE_BELOW, path: Path = ROOT
) -> Iterator[_Leaf]:
    """Yield the leaves of a tree. In the tree of an overlay alone, items and values may be marked as invalid."""
    for name, value in tree.items():
        field, here, found = message.fields[name], path.child(name), below(references, name)
        if field.is_scalar:
            yield _Leaf(tree, name, field, here, here, reference(references, name))
        elif field.kind is table.Kind.MAP and isinstance(value, dict):
            for key in value:
                yield _Leaf(value, key, field, here.key(field.folded(key)), here.key(key), reference(found, key), key)
        elif field.is_message and isinstance(value, dict):
            yield from _leaves(value, field.message(), found, here)
        elif field.is_message_list and isinstance(value, list):
            identity = field.message().identity
            for item in value:
                key = item.get(identity.name) if identity and isinstance(item, dict) else None
                if isinstance(key, str):
                    yield from _leaves(item, field.message(), below(found, key), here.key(key))
