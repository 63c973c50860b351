"""What a change costs, from the one place where that is declared (REF-02), and the masks that say so."""

from collections.abc import Iterable

from iop_edge.refresh.diff import Difference
from iop_edge.refresh.result import Mask
from iop_edge.schema.table import Field, RefreshClass


def refresh_class(field: Field) -> RefreshClass:
    """Return what a change of the field costs; for a list or a map, what adding or removing an entry costs.

    Code generation rejects a config field without a class. Should one get through, it is not live by accident.
    """
    return field.refresh or RefreshClass.RESTART


def masks(differences: Iterable[Difference]) -> tuple[Mask, ...]:
    """Return one mask for each message with a change, sorted by path, the fields of each sorted (REF-01).

    A `google.protobuf.FieldMask` cannot name an item of a list or a key of a map, hence one mask a message, with the
    path of the message beside it. An item that was added or removed is in the mask of the message that holds its list.
    """
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
