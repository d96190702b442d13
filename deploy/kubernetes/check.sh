#!/bin/sh
# Checks the manifests, the Helm chart, the dashboard and the alerts: check.sh TOOLS. helm and kubeconform are in the
# folder TOOLS. The schemas are those of Kubernetes, KEDA, the Prometheus operator, the inference
# extension of the Gateway API and KServe, from their Go modules.
set -eu
cd "$(dirname "$0")/../.."
tools=$(cd "${1:?usage: check.sh TOOLS}" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/triton-manifests.XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "manifests: $*" >&2; exit 1; }
module() { # MODULE@VERSION: the folder of its files
	(cd "$work" && GOFLAGS=-mod=mod go mod download -json "$1") | sed -n 's/^.*"Dir": "\(.*\)",*$/\1/p'
}
kubernetes=$(module k8s.io/kubernetes@v1.37.2)
keda=$(module github.com/kedacore/keda/v2@v2.21.0)/config/crd/bases
operator=$(module github.com/prometheus-operator/prometheus-operator@v0.85.0)/example/prometheus-operator-crd
gateway=$(module sigs.k8s.io/gateway-api-inference-extension@v1.1.0)/config/crd/bases
kserve=$(module github.com/kserve/kserve@v0.15.2)/config/crd/full
go run ./deploy/kubernetes/schemas -output "$work/schemas" "$kubernetes/api/openapi-spec/swagger.json" "$keda/keda.sh_scaledobjects.yaml" \
	"$operator/monitoring.coreos.com_podmonitors.yaml" "$operator/monitoring.coreos.com_servicemonitors.yaml" "$operator/monitoring.coreos.com_prometheusrules.yaml" \
	"$gateway/inference.networking.k8s.io_inferencepools.yaml" \
	"$kserve/serving.kserve.io_clusterservingruntimes.yaml" "$kserve/serving.kserve.io_inferenceservices.yaml"
valid() { # FILE... Without a location for schemas kubeconform would ask the network.
	"$tools/kubeconform" -strict -summary -schema-location "$work/schemas/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json" "$@"
}

chart=deploy/helm/triton
helm() { "$tools/helm" "$@" 2>"$work/errors" || { cat "$work/errors" >&2; return 1; }; }
render() { helm template models "$chart" --namespace ml-serving --kube-version "$1" ${2:+--values "$2"}; }
for values in "" deploy/helm/tests/*.yaml; do
	name=$(basename "${values:-default.yaml}" .yaml)
	helm lint --strict "$chart" ${values:+--values "$values"} >"$work/lint" || { cat "$work/lint" >&2; fail "helm lint: $name"; }
	for version in 1.25.0 1.37.2; do
		render $version "$values" >"$work/$name-$version.yaml" || fail "helm template: $name"
	done
done
valid $(find deploy/kubernetes -name '*.yaml') "$work"/*.yaml

# The checks have to find mistakes, or they would prove nothing.
while read -r set; do
	! "$tools/helm" template models "$chart" --kube-version 1.37.2 --set "$set" >/dev/null 2>&1 || fail "the chart takes $set"
done <<END
replicas=3
workload=DaemonSet
image.numGpus=many
gpuResource=gpu
sharedMemorySize=16GB
tags.autoscaling=true,keda.enabled=true
podMonitor.enabled=true,serviceMonitor.enabled=true
keda.scaler.metric=speed
keda.scaler.targetValue=0
END
for mistake in 's/containerPort: 8000/containerPort: http/' 's/replicas: 3/replicaCount: 3/' 's/medium: Memory/medum: Memory/' 's/kind: Deployment/kind: Deploymnt/'; do
	sed "$mistake" deploy/kubernetes/triton.yaml >"$work/mistake.yaml"
	! cmp -s "$work/mistake.yaml" deploy/kubernetes/triton.yaml || fail "$mistake changes nothing"
	! valid "$work/mistake.yaml" >/dev/null 2>&1 || fail "the schemas take $mistake"
done
echo "manifests: all valid"
