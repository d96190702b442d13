#!/bin/sh
# Puts Debian's haproxy into DEST, for the test of rolling restarts. It needs apt-get and dpkg, no
# root: the packages are unpacked, not installed. Without them it prints that and exits with 0:
# the test then uses a proxy in Go.
set -eu
dest=${1:?usage: get.sh DEST}
skip() { echo "haproxy: $1; the test of rolling restarts uses a proxy in Go"; exit 0; }
if command -v haproxy >/dev/null || [ -x "$dest/haproxy" ]; then exit 0; fi
command -v apt-get >/dev/null && command -v dpkg >/dev/null || skip "no apt-get here"
root=$(mkdir -p "$dest" && cd "$dest" && pwd)/haproxy-files
rm -rf "$root" && mkdir -p "$root/packages"
# Where no mirror can be reached the wait is short. What is installed is not needed.
for name in haproxy liblua5.3-0 libopentracing-c-wrapper0 libopentracing1 libpcre2-8-0 libsystemd0; do
  (cd "$root/packages" && timeout 90 apt-get -o Acquire::http::Timeout=15 -o Acquire::Retries=0 download -qq "$name" >log 2>&1) || { [ "$name" = haproxy ] && skip "$(tail -n 1 "$root/packages/log")"; }
done
for package in "$root"/packages/*.deb; do dpkg -x "$package" "$root"; done
rm -rf "$root/packages"
libraries=$(ls -d "$root"/usr/lib/*-linux-gnu* 2>/dev/null | head -n 1)
cat >"$dest/haproxy" <<END
#!/bin/sh
export LD_LIBRARY_PATH=$libraries
exec "$root/usr/sbin/haproxy" "\$@"
END
chmod +x "$dest/haproxy"
"$dest/haproxy" -v || { rm -f "$dest/haproxy"; skip "it does not run"; }
