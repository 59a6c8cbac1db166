"""Cases in which a compiled program is known to differ from the plain one, each with its reason."""

KNOWN: tuple[str, ...] = ()
