"""Certificates for tests: an authority, a Node (localhost, node.test, 127.0.0.1) and an Edge under it, and a stranger.

They are valid for a hundred years, and the authorities' keys are gone.
"""

from pathlib import Path
from typing import Final

from iop_edge.net import Tls

_DIRECTORY: Final = Path(__file__).parent / "tls"


def _read(name: str) -> str:
    return (_DIRECTORY / name).read_text("ascii")


CA: Final = _read("ca.pem")
STRANGER: Final = _read("stranger.pem")
NODE: Final = Tls(cert=_read("node.pem"), key=_read("node.key"))
EDGE: Final = Tls(cert=_read("edge.pem"), key=_read("edge.key"))
