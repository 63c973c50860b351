"""Keeps the garbage collector from walking a tree that only grows."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Leave the garbage collector off within the context.

    A load makes many objects and drops nearly none, and none of them in cycles: the collector would walk all of them
    several times and find nothing. What an exception may leave is collected afterwards.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
