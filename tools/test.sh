#!/bin/sh
# Run every test: test.sh PYTEST. Those that boot machines run beside the others: a guest's CPUs are
# one thread of the host's, and what it says is printed when the others are done.
set -eu
said=$(mktemp)
trap 'rm -f "$said"' EXIT
"$1" -m vm >"$said" 2>&1 &
machines=$!
trap 'kill "$machines" 2>/dev/null || true; rm -f "$said"' INT TERM
others=0
"$1" -m "not vm" || others=$?
booted=0
wait "$machines" || booted=$?
echo "the tests that boot machines:"
cat "$said"
[ "$others" = 0 ] && [ "$booted" = 0 ]
