"""Functions in parts: what cannot be compiled runs as it is, between two compiled parts.

A part is a piece of the function's own bytecode, from one point to another at which no value is on
the stack. Its locals come as arguments, and go on as a tuple that begins with `End`. A point is
none where a jump, an exception handler or a `with` leads past it, so that a part is left at its end
or by `return` alone. All parts have the name, the lines and the namespace of the function: what it
raises or warns of reads as if it had run whole.
"""

from dvm.splitting.cuts import pieces_around
from dvm.splitting.flow import Flow
from dvm.splitting.outlining import Piece, piece_function, pieces_within, with_calls
from dvm.splitting.parts import End, own_lines, part_of

__all__ = [
    "End",
    "Flow",
    "Piece",
    "own_lines",
    "part_of",
    "piece_function",
    "pieces_around",
    "pieces_within",
    "with_calls",
]
