#!/usr/bin/env bash
# Format, style and types of the whole tree; every tool runs and the failures are named at the end.
# `scripts/lint.sh quick` is what takes seconds, and is what `make test` begins with. The rest is
# clang-tidy, half an hour: `SINCE=<commit> make lint` shows it only the files changed since then.
set -uo pipefail
cd "$(dirname "$0")/.."
case "$*" in
  '' | quick) ;;
  *)
    echo "usage: scripts/lint.sh [quick]" >&2
    exit 2
    ;;
esac
failed=()
step() {
  local name=$1
  shift
  echo "lint: $name"
  "$@" || failed+=("$name")
}

# Found, not asked of git: a tree without its history has the same files.
mapfile -t cpp < <(find benchmarks cpp tests -name '*.cpp' -o -name '*.c' -o -name '*.h')
# Versions of clang-format differ in what they make of the same style; 14 is this tree's.
format=$(command -v clang-format-14 || echo clang-format)

units() {
  # The hand-written loops of two benchmarks are compiled by pragmas that only GCC knows.
  { git diff --name-only --diff-filter=d "${SINCE:-$(git hash-object -t tree /dev/null)}"
    git ls-files -o --exclude-standard; } | grep -E '^(cpp|tests|benchmarks)/.*\.(cpp|c)$' |
    grep -vE '/bench_(chain|norms)\.cpp$' | sort -u
}

tidy() {
  # One database for everything, the extension and the benchmarks included, file by file; nothing is
  # compiled.
  cmake --preset debug -B build/lint -DDVM_PYTHON=ON -DDVM_BENCHMARKS=ON --log-level=WARNING \
    -DCMAKE_UNITY_BUILD=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
    -DPython_EXECUTABLE="$(command -v python)" \
    -Dpybind11_DIR="$(python -m pybind11 --cmakedir)" >/dev/null || return
  sed -i 's/ -fvect-cost-model=[a-z]*//' build/lint/compile_commands.json  # an option of GCC alone
  units | tr '\n' '\0' |
    xargs -0 -r -n 1 -P "$(nproc)" clang-tidy --quiet -p build/lint \
      2> >(grep -v 'warnings\? generated' >&2)
}

step "ruff check" ruff check --quiet
step "ruff format" ruff format --check --quiet
step clang-format "$format" --dry-run -Werror "${cpp[@]}"
step mypy mypy
[ "${1-}" = quick ] || step clang-tidy tidy
[ ${#failed[@]} -eq 0 ] || {
  echo "lint: failed: ${failed[*]}" >&2
  exit 1
}
