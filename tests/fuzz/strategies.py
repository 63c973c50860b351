"""Files that are nearly configs: damaged examples, and YAML that follows the schema but here and there."""

from typing import Final

from hypothesis import strategies as st

from iop_edge.schema import table
from iop_edge.schema.table import Field, Kind, Message
from tests.fuzz.target import PRIVATE, TRACKED
from tests.support import EXAMPLES
from tests.tricky import CHARACTERS, SCALARS

_EXAMPLES: Final = [path.read_bytes() for path in sorted(EXAMPLES.glob("*.yaml"))]
_LAYERS: Final = st.sampled_from([TRACKED, PRIVATE])
_HARM: Final = st.sampled_from(
    [
        *(text.encode() for text in (*CHARACTERS, *SCALARS)),
        b"",
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xff\xfe",
        b"&a ",
        b"*a",
    ]
)
_SCALARS: Final = st.sampled_from(SCALARS)
_MESSAGES: Final = [table.message(name) for name in table.message_names()]
_KEYS: Final = st.sampled_from(
    sorted(
        {"<<", "x-a", "nope", "*a ", "&a a", "? id", "~", "''"}.union(
            *(m.keys for m in _MESSAGES), *(m.legacy for m in _MESSAGES)
        )
    )
)
_REFERENCES: Final = [f"'${{env:{name}}}'" for name in "ABCDEFGHIZ"]
_BY_FORMAT: Final = {
    "http_url": ["'http://127.0.0.1:1'", "'https://[::1]/v1?key=a'", "'http://${env:F}'"],
    "address": ["'127.0.0.1:1'", "'127.0.0.1:2'", "'[::1]:1'", "'unix:/a'", "'${env:F}'"],
    "sha256_hex": ["a" * 64, "B" * 64],
    "http_path": ["/a"],
    "header_name": ["X-Tenant", "Authorization"],
    "identifier": ["a", "b", "c", "é", "'a$${b'"],
}
_TEXTS: Final = ["a", "'a b'", "''", "X-Tenant", "Authorization", *_REFERENCES]


@st.composite
def damaged_examples(draw: st.DrawFn) -> bytes:
    """Examples, one over the other, with some of their bytes replaced."""
    content = bytearray(draw(st.sampled_from(_EXAMPLES)))
    for overlay in draw(st.lists(st.sampled_from(_EXAMPLES), max_size=2)):
        content += draw(_LAYERS) + overlay
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, len(content) - 1))
        content[place : place + draw(st.integers(0, 9))] = draw(_HARM)
    return bytes(content)


@st.composite
def near_the_schema(draw: st.DrawFn) -> bytes:
    """Layers that are written by the schema, with wrong values, keys, anchors and aliases among the right ones."""
    content = draw(_mapping(table.root())).encode()
    for _ in range(draw(st.integers(0, 2))):
        content += draw(_LAYERS) + draw(_mapping(table.root())).encode()
    return content


@st.composite
def _mapping(draw: st.DrawFn, message: Message) -> str:
    keys = [field.name for field in message.required] if draw(st.integers(0, 9)) else []
    keys += draw(st.lists(st.sampled_from(list(message.keys)), max_size=4))
    entries = [f"{key}: {draw(_value(message.keys[key]))}" for key in dict.fromkeys(keys)]
    if not draw(st.integers(0, 39)):
        entries.append(f"{draw(_KEYS)}: {draw(_SCALARS)}")
    return f"{{{', '.join(entries)}}}"


@st.composite
def _value(draw: st.DrawFn, field: Field) -> str:
    """A value of a field, and now and then something else."""
    luck = draw(st.integers(0, 49))
    if luck == 0:
        return draw(_SCALARS)
    if luck == 1:
        return "*a"
    anchor = "&a " if luck == 2 else ""
    if field.kind is Kind.MAP:
        return f"{anchor}{{{draw(_texts(field))}: {draw(_texts(field))}}}"
    if not field.repeated:
        return anchor + draw(_item(field))
    if field.mapping_form is not None and luck < 10:
        key = field.message().fields[field.mapping_form.key_field]
        return f"{anchor}{{{draw(_item(key))}: {draw(_item(field))}}}"
    return f"{anchor}[{', '.join(draw(st.lists(_item(field), max_size=2)))}]"


def _item(field: Field) -> st.SearchStrategy[str]:
    if field.kind is Kind.MESSAGE:
        return st.deferred(lambda: _mapping(field.message()))
    if field.kind is Kind.BOOL:
        return st.sampled_from(["true", "false", "'${env:D}'"])
    if field.kind is Kind.ENUM:
        return st.sampled_from([*field.enum().words, *field.enum().aliases])
    if field.kind.is_integer:
        return st.sampled_from(["0", "1", "7", "'${env:A}'", "'${env:Z:-7}'"])
    return _texts(field)


def _texts(field: Field) -> st.SearchStrategy[str]:
    return st.sampled_from(_BY_FORMAT.get(field.format, _TEXTS))
