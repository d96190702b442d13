# shellcheck shell=bash
# gRPC-Web from Node, at the one port of a server of its own: Connect's client over HTTP/1 and HTTP/2, and the client
# for browsers that comes with gRPC-Web, binary and as text. Their messages are made from what grpcurl learns by
# reflection.

section=web
grpcurl=$root/build/tools/grpcurl
if have node && have npm; then
  if [[ ! -x $grpcurl ]]; then
    skip "no $grpcurl: run make $grpcurl"
    return 0
  fi
  mkdir -p "$built/web"
  if ! cmp -s "$here/web/package.json" "$built/web/.stamp"; then
    cp "$here/web/package.json" "$built/web/"
    if (cd "$built/web" && npm install --no-audit --no-fund --no-package-lock --loglevel=error) >"$work/npm.log" 2>&1; then
      cp "$here/web/package.json" "$built/web/.stamp"
    fi
  fi
  if [[ ! -f $built/web/.stamp ]]; then
    skip "npm could not install it: $(tail -1 "$work/npm.log")"
    return 0
  fi
  plain_http=$http plain_grpc=$grpc plain_metrics=$metrics
  serve web --load-model=simple --load-model=repeat_int32 --http-grpc-one-port=true --grpc-transport=builtin
  expect "grpcurl and curl at one port" 'SERVING.*200 OK' bash -c "'$grpcurl' -plaintext '$http' grpc.health.v1.Health/Check; curl -sS -i --http2-prior-knowledge 'http://$http/v2/health/ready' | sed 's/HTTP.2 200/200 OK/'"
  "$grpcurl" -plaintext -protoset-out "$work/web.protoset" "$http" describe inference.GRPCInferenceService >"$work/web.txt" 2>&1
  cp "$here/web/client.mjs" "$built/web/"
  collect node "$built/web/client.mjs" "http://$http" "$work/web.protoset"
  stop && ok "ends with exit code 0" || bad "ends with exit code 0" "$(tail -5 "$work/web.log")"
  http=$plain_http grpc=$plain_grpc metrics=$plain_metrics
fi
