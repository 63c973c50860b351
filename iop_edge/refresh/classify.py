"""Says what a change costs, from the one place where that is declared (REF-02)."""

from collections.abc import Iterable

from iop_edge.refresh.result import Change, Status
from iop_edge.schema.table import Field, RefreshClass


def refresh_class(field: Field) -> RefreshClass:
    """Return what a change of the field costs; for a list or a map, what an entry costs that comes or goes.

    Code generation lets no config field pass without a class; were there one, it would not be live by accident.
    """
    return field.refresh or RefreshClass.RESTART


def status_of(changes: Iterable[Change]) -> Status:
    """Return how a refresh with these changes ends: one that needs a restart holds all back (REF-07)."""
    if any(change.refresh_class is RefreshClass.RESTART for change in changes):
        return Status.RESTART_REQUIRED
    return Status.APPLIED
