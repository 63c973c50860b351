"""What to say of a key that its message does not have (CFG-01)."""

import difflib
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from iop_edge.config.findings import Trail
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.redact import is_key_like
from iop_edge.schema.table import Kind, Message

_LONGEST_SHOWN: Final = 60
_MOST_PLACES: Final = 3
_CLOSE: Final = 0.62
_ALL_BUT: Final = 0.85
_RUN_IN: Final = re.compile(r"[:\s]")
_LIKE_FIELD: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")


def shown_key(name: str) -> str:
    """Return a key as a message shows it: in quotes, not too long, and without a value that runs into it."""
    return json.dumps(_cut(name), ensure_ascii=not name.isprintable())


def key_trail(trail: Trail, name: str) -> Trail:
    """Return the trail of a key of a message that may be any text."""
    name = _cut(name)
    return (trail, name, not _LIKE_FIELD.fullmatch(name))


def map_key_trail(trail: Trail, name: str) -> Trail:
    """Return the trail of a key of a map, as it may be shown."""
    return (trail, _cut(name), True)


def hint_for(message: Message, name: str) -> str:
    """Return what the writer of an unknown key may have meant; empty where nobody can tell."""
    if len(name) > _LONGEST_SHOWN:
        return ""
    before, colon, _ = name.partition(":")
    if colon and before in message.keys:
        return f"write a space after the colon of {before}"
    places = _places().get(name, ())
    hints = []
    # A name that is known elsewhere is hardly a slip, unless it is all but a name that is known here.
    close = _close(message, name, _ALL_BUT if places else _CLOSE)
    if close:
        hints.append(f"did you mean {close}?")
    if places:
        hints.append(f"{name} belongs under {' or '.join(places[:_MOST_PLACES])}")
    return "; ".join(hints)


def _close(message: Message, name: str, cutoff: float) -> str:
    """Return the key that is most like a name, whatever its case and dashes, or the one that it is the last word of."""
    word = name.lower().replace("-", "_")
    found = difflib.get_close_matches(word, message.keys, 1, cutoff)
    ending = [key for key in message.keys if key.endswith(f"_{word}")]
    return next(iter([*found, *ending[:1]]), "")


def may_hold_value(message: Message, name: str) -> bool:
    """Tell whether an unknown key without a value may be a value, or a key with the value run into it.

    It is none of that where it can be told from a key that is meant, and is no longer than that one.
    """
    if name in known_keys() or name.partition(":")[0] in message.keys:
        return False
    close = difflib.get_close_matches(name[:_LONGEST_SHOWN], message.keys, 1, _CLOSE)
    return not close or len(close[0]) < len(name)


def names_secret(message: Message, name: str) -> bool:
    """Tell whether an unknown key is named like a credential, or like a field that holds one."""
    name = name[:_LONGEST_SHOWN]
    secrets = [key for key, field in message.keys.items() if field.sensitive]
    return is_key_like(name) or bool(difflib.get_close_matches(name.lower(), secrets, 1, _CLOSE))


@cache
def known_keys() -> frozenset[str]:
    """Return every key that stands anywhere in the schema, refused ones too."""
    legacy = {name for message in map(table.message, table.message_names()) for name in message.legacy}
    return frozenset(_places()) | legacy


def is_ignored(name: str) -> bool:
    """Tell whether a top-level key is a home for anchors or a note to editors (CFG-12)."""
    return name == "$schema" or name.startswith("x-")


def is_one_word(name: str) -> bool:
    """Tell whether a key is nothing but a key: else a value may have run into it for want of a colon or a space."""
    return _RUN_IN.search(name) is None


def _cut(name: str) -> str:
    run_in = _RUN_IN.search(name)
    if run_in is not None:
        name = name[: run_in.start()] + "..."
    return name if len(name) <= _LONGEST_SHOWN else name[:_LONGEST_SHOWN] + "..."


@cache
def _places() -> Mapping[str, tuple[str, ...]]:
    """Return where each key of the schema stands: the patterns of the messages that have it."""
    places: dict[str, tuple[str, ...]] = {}
    queue: list[tuple[Message, Path]] = [(table.root(), ROOT)]
    for message, path in queue:
        pattern = table.pattern(path) or "the top level"
        for name, field in message.keys.items():
            places[name] = (*places.get(name, ()), pattern)
            if field.kind is Kind.MESSAGE and name == field.name:
                here = path.child(name)
                queue.append((field.message(), here.key("") if field.repeated else here))
    return places
