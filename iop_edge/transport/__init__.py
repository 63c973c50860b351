"""grpclib, secured, and bounded against hostile peers.

This is the only package that touches private parts of grpclib and h2, which are therefore pinned exactly. A test for
each of them fails when an upgrade changes it (docs/decisions/grpclib.md).
"""

from typing import Final

PROTOCOL_VERSION: Final = 1
"""The version of the protocol between Edge and Node. It increases when an older peer would misread a newer one."""
