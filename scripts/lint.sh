#!/usr/bin/env bash
# Format, style and types of the whole tree; every tool runs and the failures are named at the end.
# clang-tidy is the slow one: `SINCE=<commit> make lint` shows it only the files changed since then.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=()
step() {
  local name=$1
  shift
  echo "lint: $name"
  "$@" || failed+=("$name")
}

mapfile -t cpp < <(git ls-files -co --exclude-standard -- '*.cpp' '*.c' '*.h')
# The hand-written loops of two benchmarks are compiled by pragmas that only GCC knows.
mapfile -t units < <(
  { git diff --name-only --diff-filter=d "${SINCE:-$(git hash-object -t tree /dev/null)}"
    git ls-files -o --exclude-standard; } | grep -E '^(cpp|tests|benchmarks)/.*\.(cpp|c)$' |
    grep -vE '/bench_(chain|norms)\.cpp$' | sort -u
)

tidy() {
  # One database for everything, the extension and the benchmarks included, file by file; nothing is
  # compiled.
  cmake --preset debug -B build/lint -DDVM_PYTHON=ON -DDVM_BENCHMARKS=ON --log-level=WARNING \
    -DCMAKE_UNITY_BUILD=OFF \
    -DPython_EXECUTABLE="$(command -v python)" \
    -Dpybind11_DIR="$(python -m pybind11 --cmakedir)" >/dev/null || return
  printf '%s\0' "${units[@]}" |
    xargs -0 -r -n 1 -P "$(nproc)" clang-tidy --quiet -p build/lint \
      2> >(grep -v 'warnings\? generated' >&2)
}

step clang-format clang-format --dry-run -Werror "${cpp[@]}"
step clang-tidy tidy
step "ruff check" ruff check --quiet
step "ruff format" ruff format --check --quiet
step mypy mypy
[ ${#failed[@]} -eq 0 ] || {
  echo "lint: failed: ${failed[*]}" >&2
  exit 1
}
