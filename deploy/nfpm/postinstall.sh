#!/bin/sh
# After an installation or an upgrade. A machine without systemd (a chroot, a container) has none of these programs.
# With DPKG_ROOT the package is installed for another machine, and this script runs outside of it.
set -e
root=${DPKG_ROOT:-}
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers --root="${root:-/}" triton.conf
elif [ -z "$root" ] && command -v useradd >/dev/null && ! getent passwd triton >/dev/null; then
	useradd --system --user-group --no-create-home --home-dir /var/lib/triton --shell /usr/sbin/nologin triton
fi
[ -z "$root" ] || exit 0
if getent passwd triton >/dev/null; then
	chown triton:triton /var/lib/triton
else
	echo "triton: neither systemd-sysusers nor useradd is here: make the user triton, which the service runs as" >&2
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# An upgrade: the old program answers its requests, then the new one starts.
	systemctl try-restart triton.service || true
fi
