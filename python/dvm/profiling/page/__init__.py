"""The page of a Profile: one HTML file that needs no network, nor a server, nor a library.

Source lines with the time of each, the fusion graph with what was refused, the timeline, the
roofline and the bytecode. One thing is selected at a time, a kernel, in all of them; it stands in
the address (`#k=g0.r0`), so that Back works and links can be shared.
"""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dvm.profiling.page.graph import graph_section
from dvm.profiling.page.kernel_bytecode import bytecode_section
from dvm.profiling.page.lines import lines_section
from dvm.profiling.page.passes import passes_section, steps_section
from dvm.profiling.page.planned_memory import memory_section
from dvm.profiling.page.roofline import roofline_section
from dvm.profiling.page.timeline import timeline_section
from dvm.profiling.simulated import SimulatedProfile, legend, pipe_shares

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile

#: no requests: what is not in the page does not exist
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"


def page(profile: Profile) -> str:
    """Return the page of a Profile as HTML, the same for equal Profiles."""
    found = profile.to_dict()
    timeline, packed = timeline_section(profile)
    sections = [
        ("What to change first", _changes(profile)),
        ("Your lines", lines_section(profile)),
        ("Why it is not one kernel", graph_section(profile)),
        ("What waited for what", timeline and timeline + _legend(profile)),
        ("What bounds it", roofline_section(profile)),
        ("What runs", bytecode_section(profile)),
        ("Memory that is planned", memory_section(profile)),
        ("From pass to pass", steps_section(profile) + passes_section(profile)),
        (
            "All numbers",
            f"<details><summary>as text</summary><pre>{escape(str(profile))}</pre></details>",
        ),
    ]
    body = "".join(
        f'<section aria-labelledby="s{k}"><h2 id="s{k}">{escape(title)}</h2>{html}</section>'
        for k, (title, html) in enumerate(sections)
        if html
    )
    title = f"{profile.function} on {profile.target}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_asset('page.css')}</style></head><body>"
        f'<header><h1>{escape(title)}</h1><button id="theme" type="button">dark or light</button>'
        f"<p>{escape(profile.summary())}</p></header><main>{body}</main>"
        '<p id="said" role="status" aria-live="polite"></p>'
        f'<script type="application/json" id="profile">{_json(found)}</script>'
        f'<script type="application/json" id="events">{_json(packed)}</script>'
        f"<script>{_asset('page.js')}</script></body></html>"
    )


def _legend(profile: Profile) -> str:
    if not isinstance(profile, SimulatedProfile):
        return ""
    pipes = {pipe for kernel in profile.kernels for pipe in pipe_shares(kernel.timings)}
    return f'<p class="help">{escape(legend(pipes))}</p>'


def _changes(profile: Profile) -> str:
    items = "".join(f"<li>{escape(str(change))}</li>" for change in profile.change_first())
    return f"<ol>{items}</ol>" if items else "<p>Nothing that dvm knows of.</p>"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _asset(name: str) -> str:
    return files("dvm.profiling.page").joinpath(name).read_text("utf-8")
