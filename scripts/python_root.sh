#!/usr/bin/env bash
# Runs a command where Python is another than this machine's: in a root folder that holds a release of
# Debian, with these sources in /dvm.
#   scripts/python_root.sh trixie make test-python     # Python 3.13; sid has 3.14
# The folder is made on first use and kept, with its own .venv, so that later runs build what changed.
# DVM_ROOTS says where such folders are.
set -euo pipefail
suite=$1
shift
sources=$(cd "$(dirname "$0")/.." && pwd)
roots=${DVM_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/dvm/roots}
root=$roots/$suite
packages=python3,python3-venv,python3-dev,g++,make,cmake,ninja-build,ccache,libhwy-dev,binutils,ca-certificates

if [ "$(id -u)" -ne 0 ]; then
  echo "python_root: only root may make such a folder and enter it; run this with sudo" >&2
  exit 1
fi
if [ ! -e "$root/complete" ]; then
  echo "python_root: making $suite in $roots (some minutes)"
  rm -rf "$root"
  mkdir -p "$roots"
  log=$roots/$suite.log
  debootstrap --variant=minbase --include="$packages" "$suite" "$root" >"$log" 2>&1 ||
    { tail -n 20 "$log" >&2; exit 1; }
  touch "$root/complete"
fi
# Each folder of sources has a .venv of its own there, as it has here.
venv=$root/venvs/$(printf %s "$sources" | cksum | cut -d' ' -f1)
ccache=${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ccache}
mkdir -p "$root/dvm" "$venv" "$sources/.venv" "$ccache" "$root/root/.cache/ccache"

# Names are resolved, registries trusted and found as here.
for file in /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
  cp --dereference "$file" "$root$file"
done
environment=(HOME=/root LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin CCACHE_BASEDIR=/dvm)
while IFS= read -r name; do
  case $name in
    PIP_CERT) environment+=("PIP_CERT=/etc/ssl/certs/ca-certificates.crt") ;;
    PIP_*_URL | PIP_TRUSTED_HOST | PIP_DEFAULT_TIMEOUT | *_proxy | *_PROXY | DVM_TEST_* | CI)
      environment+=("$name=${!name}") ;;
  esac
done < <(compgen -e)

# What is mounted is seen by this command alone, and gone when it ends.
exec unshare --mount bash -euc '
  root=$1 sources=$2 venv=$3 ccache=$4
  shift 4
  mount --rbind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  mount --bind "$sources" "$root/dvm"
  mount --bind "$venv" "$root/dvm/.venv"
  mount --bind "$ccache" "$root/root/.cache/ccache"
  cd "$root"
  exec chroot . /usr/bin/env -i -C /dvm "$@"
' python_root "$root" "$sources" "$venv" "$ccache" "${environment[@]}" "$@"
