"""Field paths: a small immutable linked list, rendered only when somebody reads it.

Two kinds of step follow a field: an index, as in the report of a load (`nodes[2].providers[0].capacity`), or a key, the
identity of an item or the key of a map, as in a diff (`nodes[gpu-a].providers[a-qwen].capacity`, REF-01).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_.:/@+-]+")
_TOKEN: Final = re.compile(
    r"\.?([A-Za-z_$][A-Za-z0-9_$-]*)|\[(\d+|)\]|\[(\"(?:[^\"\\]|\\.)*\")\]|\[([A-Za-z0-9_.:/@+-]+)\]"
)

Step = str | int


@dataclass(frozen=True, slots=True)
class Path:
    """One step and the path before it; `Path.ROOT` has neither.

    `step` is a field name (`is_key` false), an index, or a key (`is_key` true).
    """

    parent: "Path | None"
    step: Step
    is_key: bool = False

    def child(self, name: str) -> "Path":
        """Return the path of a field of this message."""
        return Path(self, name)

    def index(self, index: int) -> "Path":
        """Return the path of an item of this list, by its place."""
        return Path(self, index)

    def key(self, key: str) -> "Path":
        """Return the path of an item of this list by its identity, or of a map's value by its key."""
        return Path(self, key, is_key=True)

    def steps(self) -> tuple["Path", ...]:
        """Return every prefix of the path that ends in a step, the shortest first."""
        return tuple(self._backwards())[::-1]

    def names(self) -> tuple[str, ...]:
        """Return the field names of the path alone: its place in the schema."""
        return tuple(str(p.step) for p in self.steps() if not p.is_key and isinstance(p.step, str))

    def _backwards(self) -> Iterator["Path"]:
        path: Path | None = self
        while path is not None and path.parent is not None:
            yield path
            path = path.parent

    def __str__(self) -> str:
        return "".join(_render(path) for path in self.steps()).removeprefix(".")


ROOT: Final = Path(None, "")


def _render(path: Path) -> str:
    if isinstance(path.step, int):
        return f"[{path.step}]"
    if not path.is_key:
        return f".{path.step}"
    if _BARE_KEY.fullmatch(path.step):
        return f"[{path.step}]"
    return f"[{json.dumps(path.step, ensure_ascii=False)}]"


def schema_names(text: str) -> tuple[str, ...]:
    """Return the field names in a path as people write it: `nodes[].address`, `nodes[gpu-a].address`, `nodes.address`.

    Raises:
        ValueError: the text is no path.
    """
    names: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"no path: {text!r}")
        if match.group(1) is not None:
            names.append(match.group(1))
        position = match.end()
    return tuple(names)
