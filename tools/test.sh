#!/bin/sh
# Run every test: test.sh PYTEST. There are two lanes, about equally long, for two CPUs. One has the
# machines that are booted, each of which is one thread here, then what mostly waits; what it says
# is printed when the other is done, which has all the rest.
set -eu
pytest=$1
waiting=tests/monitoring
said=$(mktemp)
trap 'rm -f "$said"' EXIT

part() { # part ARGUMENT...: run these tests, and end them when told to end
    "$pytest" "$@" &
    running=$!
    wait "$running" || failed=$?
}

machines() {
    running=
    failed=0
    trap 'kill "$running" 2>/dev/null || true; exit 143' TERM
    part -m vm
    # A whole cluster with a real node, and the few scenarios that everything else rests on.
    part -m smoke tests/e2e
    part -m "not vm" $waiting
    return "$failed"
}

machines >"$said" 2>&1 &
machines=$!
trap 'kill "$machines" 2>/dev/null || true; exit 143' INT TERM
others=0
"$pytest" -m "not vm" --ignore=$waiting || others=$?
booted=0
wait "$machines" || booted=$?
echo "the tests that boot machines or wait:"
cat "$said"
[ "$others" = 0 ] && [ "$booted" = 0 ]
