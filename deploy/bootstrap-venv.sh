#!/usr/bin/env bash
# Makes the virtual environment with uv in it: bootstrap-venv.sh PYTHON VENV UV_VERSION
# Works with a Python that has pip, or venv, or both; Debian splits them into packages.
set -euo pipefail
python=$1 venv=$2 uv_version=$3

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "Samovar needs Python 3.11 or newer; '$python' is not (set PYTHON=/path/to/python3.11)." >&2
  exit 1
fi
if "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$uv_version"
elif "$python" -m pip --version >/dev/null 2>&1; then
  # uv makes environments without ensurepip.
  tmp=$(mktemp -d)
  trap 'rm -rf "$tmp"' EXIT
  "$python" -m pip install --quiet --disable-pip-version-check --target "$tmp" "uv==$uv_version"
  "$tmp/bin/uv" venv --quiet --python "$python" "$venv"
  "$tmp/bin/uv" pip install --quiet --python "$venv/bin/python" "uv==$uv_version"
else
  echo "Samovar needs pip or venv beside Python (Debian: apt-get install python3-venv)." >&2
  exit 1
fi
