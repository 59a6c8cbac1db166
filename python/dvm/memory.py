"""The memory that dvm holds: `stats`, `set_cache_limit`, `clear_cache`.

Results and temporaries of 1 MiB and more live in a pool. An array that dies gives its memory back
to the pool, and the next one of about that size takes it without the page faults of new memory.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

from dvm import _dvm


@dataclass(frozen=True)
class MemoryStats:
    """What the pool of large buffers and frozen arrays hold, in bytes.

    used_bytes: of arrays that are alive, temporaries included.
    peak_bytes: the most that were alive at one time, since the last `clear_cache`.
    cached_bytes: of memory that waits for the next array.
    cache_limit: most bytes that may wait.
    taken: buffers taken since the start; reused: those of them that had waited.
    frozen_bytes: of arrays that `dvm.freeze` made and that are alive; packed_bytes: of the copies
        of them that products read.
    """

    used_bytes: int
    peak_bytes: int
    cached_bytes: int
    cache_limit: int
    taken: int
    reused: int
    frozen_bytes: int
    packed_bytes: int


def stats() -> MemoryStats:
    """Return what the pool of large buffers holds, as a snapshot.

    >>> dvm.stats().cached_bytes <= dvm.stats().cache_limit
    True
    """
    return MemoryStats(**_dvm.memory_stats())


def set_cache_limit(limit: int) -> int:
    """Set how many bytes of dead arrays the pool may keep, and return the former limit.

    The default is an eighth of the machine's memory, at most 1 GiB. 0 keeps nothing. What is
    beyond a lower limit goes back to the system at once.

    Raises:
        ValueError: the limit is negative.
        TypeError: the limit is no whole number.
    """
    try:
        count = operator.index(limit)
    except TypeError:
        raise TypeError(
            f"a cache limit is a whole number of bytes, such as 1 << 30 for 1 GiB, not {limit!r}"
        ) from None
    if count < 0:
        raise ValueError(f"a cache limit is a number of bytes, not {limit}")
    return _dvm.set_cache_limit(count)


def clear_cache() -> None:
    """Give all memory that waits for the next array back to the system."""
    _dvm.trim_memory(0)
