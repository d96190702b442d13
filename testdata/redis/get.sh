#!/bin/sh
# Puts Debian's redis-server into DEST, for the tests of the shared response cache. It needs
# apt-get and dpkg, no root: the packages are unpacked, not installed. Without them it
# prints that and exits with 0: the tests then skip.
set -eu
dest=${1:?usage: get.sh DEST}
skip() { echo "redis-server: $1; its tests will be skipped"; exit 0; }
if command -v redis-server >/dev/null || [ -x "$dest/redis-server" ]; then exit 0; fi
command -v apt-get >/dev/null && command -v dpkg >/dev/null || skip "no apt-get here"
root=$(mkdir -p "$dest" && cd "$dest" && pwd)/redis
rm -rf "$root" && mkdir -p "$root/packages"
# Where no mirror can be reached the wait is short.
# Debian's file names of the libraries differ by release; what is installed is not needed.
for name in redis-tools libjemalloc2 liblzf1 libatomic1; do
  (cd "$root/packages" && timeout 90 apt-get -o Acquire::http::Timeout=15 -o Acquire::Retries=0 download -qq "$name" >log 2>&1) || { [ "$name" = redis-tools ] && skip "$(tail -n 1 "$root/packages/log")"; }
done
for package in "$root"/packages/*.deb; do dpkg -x "$package" "$root"; done
rm -rf "$root/packages"
server=$root/usr/bin/redis-check-rdb # the same program under the name in redis-tools
libraries=$(ls -d "$root"/usr/lib/*-linux-gnu* 2>/dev/null | head -n 1)
cat >"$dest/redis-server" <<END
#!/bin/bash
# The program looks at the name that it is called by.
export LD_LIBRARY_PATH=$libraries
exec -a redis-server $server "\$@"
END
chmod +x "$dest/redis-server"
"$dest/redis-server" --version || { rm -f "$dest/redis-server"; skip "it does not run"; }
