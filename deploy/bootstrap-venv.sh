#!/usr/bin/env bash
# Makes the virtual environment with uv in it: bootstrap-venv.sh PYTHON VENV UV_VERSION
# Works with a Python that has pip, or venv, or both. Debian splits them into packages; where both
# are missing, root gets the package, anybody else is told its name.
# uv comes last and whole: an environment without it is what a failed run left, and is made anew.
set -euo pipefail
python=$1 venv=$2 uv_version=$3
draft=$(mktemp -d)
trap 'rm -rf "$draft"' EXIT

fetch_uv() {
  "$1" -m pip install --quiet --disable-pip-version-check --target "$draft" "uv==$uv_version"
}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "Samovar needs Python 3.11 or newer; '$python' is not (set PYTHON=/path/to/python3.11)." >&2
  exit 1
fi
has_venv() { "$python" -c 'import venv, ensurepip' 2>/dev/null; }
has_pip() { "$python" -m pip --version >/dev/null 2>&1; }

if ! has_venv && ! has_pip && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "This Python has neither pip nor venv: installing Debian's package python3-venv." >&2
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >&2
fi
if has_venv; then
  "$python" -m venv --clear "$venv"
  fetch_uv "$venv/bin/python"
elif has_pip; then
  fetch_uv "$python"
  # uv makes environments without ensurepip.
  "$draft/bin/uv" venv --quiet --clear --python "$python" "$venv"
else
  echo "Samovar needs pip or venv beside Python (Debian: apt-get install python3-venv)." >&2
  exit 1
fi
cp "$draft/bin/uv" "$venv/bin/uv.new"
mv "$venv/bin/uv.new" "$venv/bin/uv"
