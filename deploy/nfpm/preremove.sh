#!/bin/sh
# Debian passes "remove", or "upgrade" with the new version; rpm the number of versions that will be left.
set -e
case ${1:-} in
remove | 0)
	if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
		systemctl --no-reload disable --now triton.service triton-http.socket triton-grpc.socket triton-metrics.socket || true
	fi
	;;
esac
