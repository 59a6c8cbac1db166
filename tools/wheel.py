"""Build the wheel of this Python into dist/ and try it: `make wheel`.

Its tag is the oldest manylinux that what it asks of the C library allows, as auditwheel finds. It
is installed where nothing else is but what it depends on, and an example of the README runs there.
"""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_BYTES = 12_000_000
#: the section of the README whose first example runs: where functions are captured, and elsewhere
EXAMPLES = ("Use", "Lazy arrays")


def run(*command: str | Path) -> str:
    """Run a command that must not fail, and return what it printed."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    line = [str(part) for part in command]
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"wheel: {' '.join(line)} failed\n{done.stdout}{done.stderr}")
    return done.stdout


def build() -> Path:
    """Return the wheel as CMake and pip make it; what was built before is built upon."""
    folder = ROOT / "build/wheel"
    shutil.rmtree(folder, ignore_errors=True)
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps"),
        *("--wheel-dir", folder, "."),
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def check_extension(wheel: Path) -> int:
    """Return the bytes of the one library in it, which has no symbols and is not too large."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".so"))
        library = Path(archive.extract(name, ROOT / "build/wheel"))
    if ".symtab" in run("readelf", "--wide", "--sections", library):
        raise SystemExit(f"wheel: {name} is not stripped")
    size = library.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"wheel: {name} has {size:,} bytes, more than {MOST_BYTES:,}")
    return size


def tag(wheel: Path) -> Path:
    """Return the wheel in dist/ under its manylinux tag."""
    folder = ROOT / "build/tagged"
    shutil.rmtree(folder, ignore_errors=True)
    run("auditwheel", "repair", "--wheel-dir", folder, wheel)
    (tagged,) = folder.glob("*.whl")
    if "manylinux" not in tagged.name:
        raise SystemExit(f"wheel: auditwheel found no manylinux for {tagged.name}")
    (ROOT / "dist").mkdir(exist_ok=True)
    return Path(shutil.move(tagged, ROOT / "dist" / tagged.name))


def example(section: str) -> str:
    """Return the first block of Python of a section of the README."""
    text = (ROOT / "README.md").read_text("utf-8").partition(f"\n## {section}\n")[2]
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found is not None, section
    return found[1]


def try_out(wheel: Path) -> str:
    """Install it into a new environment; return the section of the README whose example ran."""
    folder = ROOT / f"build/bare-{sys.implementation.cache_tag}"
    venv.create(folder, clear=True, with_pip=True)
    python = folder / "bin/python"
    run(python, "-m", "pip", "install", "--quiet", wheel)
    captures = run(python, "-Ic", "import dvm; print(dvm._dvm.can_capture)").strip() == "True"
    section = EXAMPLES[0 if captures else 1]
    # From a file: what is captured has source.
    program = folder / "example.py"
    program.write_text(f"import numpy as np\nimport dvm\n{example(section)}", "utf-8")
    run(python, "-I", program)
    return section


def main() -> None:
    """Print what was made and what was seen of it."""
    wheel = build()
    size = check_extension(wheel)
    tagged = tag(wheel)
    section = try_out(tagged)
    print(f"dist/{tagged.name}: library {size:,} bytes, README's {section!r} runs in a bare venv")


if __name__ == "__main__":
    main()
