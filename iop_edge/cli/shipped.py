"""Texts that come with the library: examples and pages of its documentation."""

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path


def example(name: str) -> str:
    """Return the text of an example config."""
    return _text("examples", name)


def page(name: str) -> str:
    """Return the text of a page of the documentation."""
    return _text("docs", f"{name}.md")


def _text(directory: str, name: str) -> str:
    """Return a text from the installed package, or, in a checkout, from the directory beside it."""
    package = resources.files("iop_edge")
    shipped: Traversable = package / f"_{directory}" / name
    if not shipped.is_file():
        shipped = Path(str(package)).parent / directory / name
    return shipped.read_text(encoding="utf-8")
