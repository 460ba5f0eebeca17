#!/bin/sh
# Install Debian packages whose commands are missing: debian.sh "why" command=package ...
# Only as root and only where apt-get is; elsewhere it says what to install and goes on, and the
# tests that need the command skip with that reason.
set -eu
why=$1
shift
missing=
for pair in "$@"; do
    command -v "${pair%%=*}" >/dev/null 2>&1 || PATH=$PATH:/sbin:/usr/sbin command -v "${pair%%=*}" >/dev/null 2>&1 ||
        missing="$missing ${pair#*=}"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "missing Debian packages:$missing ($why). As root: apt-get install$missing" >&2
    exit 0
fi
echo "installing Debian packages:$missing ($why)" >&2
apt-get update -qq >/dev/null
# shellcheck disable=SC2086  # a list of names
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
