"""The example configs that come with the library."""

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path


def example(name: str) -> str:
    """Return the text of an example, from the installed package or, in a checkout, from `examples/` beside it."""
    package = resources.files("iop_edge")
    shipped: Traversable = package / "_examples" / name
    if not shipped.is_file():
        shipped = Path(str(package)).parent / "examples" / name
    return shipped.read_text(encoding="utf-8")
