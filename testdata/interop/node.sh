# shellcheck shell=bash
# A client that grpc-js makes from the proto files at run time.

section=node
if have node && have npm; then
  mkdir -p "$built/node"
  if ! cmp -s "$here/node/package.json" "$built/node/.stamp"; then
    cp "$here/node/package.json" "$built/node/"
    if (cd "$built/node" && npm install --no-audit --no-fund --no-package-lock --loglevel=error) >"$work/npm.log" 2>&1; then
      cp "$here/node/package.json" "$built/node/.stamp"
    fi
  fi
  if [[ -f $built/node/.stamp ]]; then
    NODE_PATH=$built/node/node_modules collect node "$here/node/client.js" "$grpc" "$root/pkg/inferencepb"
  else
    skip "npm could not install it: $(tail -1 "$work/npm.log")"
  fi
fi
