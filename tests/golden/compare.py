"""Compares rendered output with the file that holds how it should look."""

import os
from pathlib import Path
from typing import Final

EXPECTED: Final = Path(__file__).parent / "expected"


def assert_golden(name: str, text: str) -> None:
    """Compare a text with its file; with UPDATE_GOLDEN=1 write the file instead, to be looked at in the diff."""
    path = EXPECTED / name
    text = f"{text.rstrip()}\n"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
