# Generated. DO NOT EDIT!
"""The registry of the generated messages. A message of ours is made safe to print as it registers (CFG-08)."""

import betterproto2

from iop_edge.schema.redact import printer
from iop_pb import field_table


class MessagePool(betterproto2.MessagePool):
    """The registry."""

    def register_message(self, package_name: str, message_name: str, message_type: type[betterproto2.Message]) -> None:
        """Register a message."""
        super().register_message(package_name, message_name, message_type)
        if field_table.MESSAGES.get(message_name, {}).get("full_name") == f"{package_name}.{message_name}":
            message_type.__repr__ = printer(message_name)  # type: ignore[method-assign]


default_message_pool = MessagePool()
