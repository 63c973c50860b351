"""Feeds the loader what brings it to code that it has not run yet, for a number of seconds.

    python -m tests.fuzz.guided SECONDS [DIRECTORY]

Inputs that found something new are kept in the directory, and the next run begins with them. One that breaks the loader
is written there too, and ends the run with a traceback.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["iop_edge"]):
    from tests.fuzz.target import PRIVATE, TRACKED, feed

from iop_edge.schema import table
from tests.support import EXAMPLES
from tests.tricky import CHARACTERS, SCALARS

_LONGEST_INPUT = 16 * 1024
_MEMORY_MB = 2_048
_SLOWEST_SECONDS = 20


def main(seconds: int, directory: Path) -> None:
    """Run, and leave the process: libFuzzer knows no way back."""
    corpus = directory / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(_seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    words = directory / "words"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in _words()), encoding="ascii")
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={_LONGEST_INPUT}",
        f"-rss_limit_mb={_MEMORY_MB}",
        f"-timeout={_SLOWEST_SECONDS}",
        f"-dict={words}",
        f"-artifact_prefix={directory}/",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], feed)
    atheris.Fuzz()


def _seeds() -> list[bytes]:
    tracked, private, tuned, legacy, rejected = (
        (EXAMPLES / f"edge{kind}.yaml").read_bytes() for kind in ("", ".private", ".tuned", ".legacy", ".rejected")
    )
    return [tracked, legacy, rejected, tracked + PRIVATE + private + TRACKED + tuned]


def _words() -> list[bytes]:
    messages = [table.message(name) for name in table.message_names()]
    keys = {key for message in messages for key in (*message.keys, *message.legacy)}
    return [TRACKED, PRIVATE, *(word.encode() for word in (*sorted(keys), *CHARACTERS, *SCALARS) if word)]


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    _, limit, *given = sys.argv
    main(int(limit), Path(given[0]) if given else Path(tempfile.mkdtemp(prefix="iop-edge-fuzz-")))
