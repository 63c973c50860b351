"""The command-line agents that this software can run: a config names a profile, never a command (VAL-05)."""

from typing import Final

BUILT_IN: Final = frozenset({"claude-code", "codex", "gemini-cli"})
"""The profiles that come with the reference Node."""
