# shellcheck shell=bash
# Encrypted: a server of its own, which requires certificates of clients too.

section=tls
have openssl || return 0

certs=$work/certs
mkdir -p "$certs"
signed() { # NAME: a key and a certificate that the authority has signed
  openssl req -newkey rsa:2048 -nodes -keyout "$certs/$1.key" -out "$certs/$1.csr" -subj "/CN=localhost" &&
    openssl x509 -req -in "$certs/$1.csr" -CA "$certs/ca.crt" -CAkey "$certs/ca.key" -CAcreateserial -days 2 -out "$certs/$1.crt" \
      -extfile <(echo "subjectAltName=DNS:localhost,IP:127.0.0.1")
}
{
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$certs/ca.key" -out "$certs/ca.crt" -days 2 -subj "/CN=interop" && signed server && signed client
} >"$certs/log" 2>&1 || { bad "certificates" "$(cat "$certs/log")"; return 0; }

flags=()
for kind in http grpc metrics; do
  flags+=(--$kind-use-ssl-mutual=true "--$kind-server-cert=$certs/server.crt" "--$kind-server-key=$certs/server.key" "--$kind-root-cert=$certs/ca.crt")
done
plain_http=$http plain_grpc=$grpc plain_metrics=$metrics
serve tls --load-model=simple "${flags[@]}"
mutual=(--cacert "$certs/ca.crt" --cert "$certs/client.crt" --key "$certs/client.key")

if have curl; then
  expect "curl" 'HTTP/(1.1|2) 200' curl -sS -i -m 30 "${mutual[@]}" "https://$http/v2/health/ready"
  expect "curl without a certificate" '(certificate required|alert|reset|SSL)' curl -sS -m 30 --cacert "$certs/ca.crt" "https://$http/v2/health/ready"
  expect "curl that does not know the authority" 'certificate' curl -sS -m 30 --cert "$certs/client.crt" --key "$certs/client.key" "https://$http/v2/health/ready"
  expect "curl without TLS" '(400|Empty reply|reset|HTTP request to an HTTPS server)' curl -sS -i -m 30 "http://$http/v2/health/ready"
  expect "curl, metrics" 'nv_inference_count' curl -sS -m 30 "${mutual[@]}" "https://$metrics/metrics"
fi
if [[ -x $root/build/tools/grpcurl ]]; then
  grpcurl=$root/build/tools/grpcurl
  expect "grpcurl" SERVING "$grpcurl" -cacert "$certs/ca.crt" -cert "$certs/client.crt" -key "$certs/client.key" "$grpc" grpc.health.v1.Health/Check
  expect "grpcurl without a certificate" 'Failed|[Cc]ertificate' "$grpcurl" -max-time 10 -cacert "$certs/ca.crt" "$grpc" grpc.health.v1.Health/Check
fi
for venv in "$built"/python-*; do
  [[ -f $venv/.stamp ]] || continue
  section="tls ${venv##*/}"
  collect "$venv/bin/python" "$root/testdata/python/encrypted.py" "$http" "$grpc" "$certs" 2>"$work/stderr" # gRPC logs what is refused
done
section=tls
stop && ok "ends with exit code 0" || bad "ends with exit code 0" "$(tail -5 "$work/tls.log")"
http=$plain_http grpc=$plain_grpc metrics=$plain_metrics
