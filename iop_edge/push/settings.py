"""How patient a push is, and where its time and chance come from."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Bounds of the Edge's dealings with its Nodes. Times are in seconds.

    `dials_at_once` bounds the handshakes: with a whole fleet at once, each would take as long as all. `sends_at_once`
    and `bytes_at_once` bound the pushes that are being sent, not those that wait for an answer. `send_hold` is the
    longest that one Node, which does not answer or read, keeps others from their turn (PSH-04). `max_reply_bytes` and
    `max_reply_fields` bound one message of a Node: how large it is, and how long its lists are.
    """

    connect_timeout: float = 3.0
    handshake_deadline: float = 5.0
    push_deadline: float = 10.0
    dials_at_once: int = 64
    sends_at_once: int = 16
    bytes_at_once: int = 64 << 20
    send_hold: float = 0.5
    backoff_base: float = 0.1
    backoff_cap: float = 15.0
    slow_retry: float = 60.0
    max_reply_bytes: int = 1 << 20
    max_reply_fields: int = 4000
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random


DEFAULTS = Settings()
