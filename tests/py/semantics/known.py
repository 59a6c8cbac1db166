"""Cases in which a compiled program is known to differ from the plain one today."""

KNOWN: tuple[str, ...] = ()
