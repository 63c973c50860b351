"""The same diff as field masks, one a message (REF-01).

A `google.protobuf.FieldMask` cannot name an item of a list or a key of a map. So each message that has a change gets a
mask of its own, with its path beside it: an item that came or went is in the mask of the message that holds the list.
"""

from collections.abc import Iterable

from iop_edge.refresh.classify import refresh_class
from iop_edge.refresh.diff import Difference
from iop_edge.refresh.result import Mask
from iop_edge.schema.table import RefreshClass


def masks(differences: Iterable[Difference]) -> tuple[Mask, ...]:
    """Return the masks of all messages with a change, by path, their fields sorted."""
    changed: dict[str, dict[RefreshClass, set[str]]] = {}
    for difference in differences:
        classes = changed.setdefault(str(difference.owner), {})
        classes.setdefault(refresh_class(difference.field), set()).add(difference.field.name)
    return tuple(
        Mask(
            path,
            live=tuple(sorted(classes.get(RefreshClass.LIVE, ()))),
            restart=tuple(sorted(classes.get(RefreshClass.RESTART, ()))),
        )
        for path, classes in sorted(changed.items())
    )
