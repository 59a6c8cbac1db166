"""The bytecode of each kernel, beside the lines that it comes from."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from dvm import _dvm
from dvm.explaining.lines import quoted

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile

#: between the Program of a cube core and that of the vector cores that take its tiles
BEHIND = "\nbehind it, on vector cores:\n\n"

#: bytes of text that a page holds of it
MOST = 60_000


def bytecode_section(profile: Profile) -> str:
    """Return the listings, closed, kernel by kernel."""
    names = {kernel.label: kernel for kernel in profile.kernels if kernel.label >= 0}
    parts = []
    left = MOST
    for label, program, *_ in profile.watched.programs:
        if label not in names:
            continue
        kernel = names[label]
        text = BEHIND.join(_dvm.disassemble_launch(program))
        left -= len(text)
        if left < 0:
            parts.append("<p>The rest is left out: <code>f.inspect('bytecode')</code> has it.</p>")
            break
        lines = "\n".join(quoted(location) for location in kernel.lines)
        parts.append(
            f'<details data-k="{escape(kernel.name)}"><summary>{escape(kernel.name)}, '
            f"{len(program)} bytes</summary><div class='beside'><pre>{escape(lines)}</pre>"
            f"<pre>{escape(text)}</pre></div></details>"
        )
    return "".join(parts)
