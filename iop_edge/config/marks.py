"""Marks that stand in a decoded tree in place of a value.

A normalized tree holds none of them.
"""

from enum import Enum
from typing import Final


class Mark(Enum):
    """What there is instead of a value."""

    INVALID = "invalid"
    UNSET = "unset"


INVALID: Final = Mark.INVALID
"""A value stood here and was reported: later steps pass over it, so that one fault is reported once."""

UNSET: Final = Mark.UNSET
"""A null in a private overlay: what the layers below say of this field or map key is removed (CFG-05)."""
