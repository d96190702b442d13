#!/bin/sh
# Puts Debian's prometheus and promtool into DEST, for the test of the dashboard and the alerts. It
# needs apt-get and dpkg, no root: the package is unpacked, not installed.
set -eu
dest=${1:?usage: get.sh DEST}
if [ -x "$dest/prometheus" ] && [ -x "$dest/promtool" ]; then exit 0; fi
command -v apt-get >/dev/null && command -v dpkg >/dev/null || { echo "prometheus: no apt-get here" >&2; exit 1; }
mkdir -p "$dest"
work=$(mktemp -d "$dest/prometheus-package.XXXXXX")
trap 'rm -rf "$work"' EXIT
(cd "$work" && timeout 90 apt-get -o Acquire::http::Timeout=15 -o Acquire::Retries=0 download -qq prometheus >log 2>&1) || { tail -n 1 "$work/log" >&2; exit 1; }
dpkg -x "$work"/*.deb "$work/root"
mv "$work/root/usr/bin/prometheus" "$work/root/usr/bin/promtool" "$dest/"
