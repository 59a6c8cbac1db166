#!/usr/bin/env bash
# Installs what the given groups (build test bench format tidy roots) need from apt, and only what is
# missing: each requirement is probed first, so a machine that has it all needs neither apt nor root.
set -euo pipefail
python=${PYTHON:-python3.11}
missing=() wanted=()

# need PACKAGE PROBE...: PACKAGE is missing unless the probe succeeds.
need() {
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing+=("$package")
}
# want PACKAGE PROBE...: the same of a package that only some tests need, which are skipped without it.
want() {
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || wanted+=("$package")
}
program() { command -v "$1"; }
header() { g++ -E -x c++ -include "$1" /dev/null; }
python_has() { "$python" -c "$1"; }

for group in "$@"; do
  case $group in
    build)
      need g++ program g++
      need cmake program cmake
      need ninja-build program ninja
      need libhwy-dev header hwy/base.h
      need python3.11 program "$python"
      need python3.11-venv python_has 'import ensurepip'
      need python3.11-dev python_has \
        'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")'
      ;;
    test)
      need libgtest-dev header gtest/gtest_prod.h
      want chromium program chromium
      want chromium-driver program chromedriver
      ;;
    bench) need libbenchmark-dev header benchmark/benchmark.h ;;
    format) need clang-format program clang-format ;;
    tidy) need clang-tidy program clang-tidy ;;
    roots) need debootstrap program debootstrap ;;
    *)
      echo "bootstrap: unknown group '$group' (build, test, bench, format, tidy, roots)" >&2
      exit 2
      ;;
  esac
done

[ $((${#missing[@]} + ${#wanted[@]})) -gt 0 ] || exit 0
if ! command -v apt-get >/dev/null; then
  [ ${#missing[@]} -gt 0 ] || exit 0
  echo "bootstrap: missing on this machine: ${missing[*]} (Debian names)" >&2
  echo "bootstrap: there is no apt-get here; please install their equivalents and try again" >&2
  exit 1
fi
root=()
if [ "$(id -u)" -ne 0 ]; then root=(sudo); fi
install() {
  echo "bootstrap: installing $*"
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends "$@" </dev/null >/dev/null
}
if [ ${#missing[@]} -gt 0 ]; then
  "${root[@]}" apt-get update -qq
  install "${missing[@]}"
elif [ "$(id -u)" -eq 0 ]; then
  apt-get update -qq || true
fi
# What is only wanted is no reason to ask for a password, nor to fail.
if [ ${#wanted[@]} -gt 0 ]; then
  if [ "$(id -u)" -ne 0 ] || ! install "${wanted[@]}"; then
    echo "bootstrap: without ${wanted[*]}, whose tests are skipped"
  fi
fi
