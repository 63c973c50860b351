"""Turns a payload into the bytes that are sent, and the tag that tells one content from another (PAY-01)."""

import hashlib
import hmac
from dataclasses import dataclass, field

from iop_edge.ids import NodeId
from iop_edge.payload.build import PAYLOAD
from iop_edge.schema.encoding import encode_tree
from iop_edge.schema.values import ReadTree


@dataclass(frozen=True, slots=True)
class EncodedPayload:
    """A payload as it goes over the wire, encoded once however often it is sent. The bytes hold secrets."""

    node_id: NodeId
    data: bytes = field(repr=False)
    tag: bytes

    def __str__(self) -> str:
        return f"payload of {self.node_id}, {len(self.data)} bytes"


def encode(payload: ReadTree, key: bytes) -> EncodedPayload:
    """Encode the tree of a payload; equal payloads give equal bytes, and with the same key equal tags.

    The tag is keyed, so that a Node's peers cannot find out a secret by trying: without the key nobody can compute it.
    """
    data = encode_tree(payload, PAYLOAD)
    return EncodedPayload(NodeId(payload["node_id"]), data, hmac.new(key, data, hashlib.sha256).digest())
