"""Cases in which a compiled program is known to differ from the plain one, each with its reason."""

KNOWN: tuple[str, ...] = (
    # A value of one element that is broadcast over none is not computed, so that nobody learns what
    # NumPy would have warned of. The size check of a broadcast could drop such a replay.
    "ties:warnings_of_what_is_broadcast_to_nothing",
)
