"""What both ends of the way from Edge to Node agree on before they speak."""

from typing import Final

PROTOCOL_VERSION: Final = 1
"""The version of the protocol between Edge and Node. It counts up when an older peer would misread a newer one."""
