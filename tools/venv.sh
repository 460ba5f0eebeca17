#!/bin/sh
# Make the virtual environment DIR with the locked requirements and the project in it: venv.sh DIR
set -eu
dir=$1
python=${PYTHON:-python3}
"$python" - <<'P' || exit 2
import sys
if sys.version_info < (3, 11):
    sys.exit("numa-agent needs Python 3.11 or newer, this is " + sys.version.split()[0]
             + ": set PYTHON=/path/to/python3.11")
P
if ! "$python" -c "import ensurepip, venv" 2>/dev/null; then
    "$(dirname "$0")/debian.sh" "Python's venv module is apart in Debian" python3-venv=python3-venv
fi
"$python" -m venv "$dir"
"$dir/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
"$dir/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
