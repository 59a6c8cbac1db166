"""The HTML of a Profile, for notebooks: sentence, tables and a picture, without script or styles.

So it shows in notebooks that are not trusted, too. The page with the timeline is
`Profile.page`.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile


def render(profile: Profile) -> str:
    """Return `profile` as one HTML fragment."""
    first, *others = str(profile).splitlines()
    del first
    return (
        f"<p><b>{escape(profile.function)}</b> on {escape(profile.target)}: "
        f"{escape(profile.summary())}</p>"
        f"<details open><summary>where the time goes</summary>"
        f"<pre>{escape(chr(10).join(others))}</pre></details>{profile.picture()}"
    )
