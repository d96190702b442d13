#!/bin/bash
# gotest.sh go test ...: runs a `go test` with its output as always. If it fails, the output ends with a
# short digest of what failed, because a log is often read from its end. The exit status is that of the tests.
set -u
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
"$@" 2>&1 | tee "$log"
code=${PIPESTATUS[0]}
if [ "$code" -ne 0 ]; then
	go run "$(cd "$(dirname "$0")" && pwd)/testplan" digest <"$log"
fi
exit "$code"
