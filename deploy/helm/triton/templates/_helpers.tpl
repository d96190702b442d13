{{- define "triton.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "triton.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "triton.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "triton.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "triton.selector" -}}
app.kubernetes.io/name: {{ include "triton.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "triton.metadata" -}}
name: {{ include "triton.fullname" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "triton.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "triton.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "triton.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* The replicas belong to an autoscaler, if there is one: without the field, an upgrade of the release keeps their number. */ -}}
{{- define "triton.autoscaled" -}}
{{- if and .Values.tags.autoscaling .Values.keda.enabled -}}
{{- fail "tags.autoscaling and keda.enabled exclude each other: both would set the number of replicas" -}}
{{- end -}}
{{- if or .Values.tags.autoscaling .Values.keda.enabled }}yes{{ end -}}
{{- end -}}

{{- define "triton.pod" -}}
metadata:
  labels:
    {{- include "triton.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "triton.serviceAccountName" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ add .Values.drainDelaySeconds .Values.exitTimeoutSeconds 10 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if or .Values.tolerations (gt (int .Values.image.numGpus) 0) }}
  tolerations:
    {{- if gt (int .Values.image.numGpus) 0 }}
    - key: nvidia.com/gpu
      operator: Exists
      effect: NoSchedule
    {{- end }}
    {{- with .Values.tolerations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- with .Values.topologySpread }}
  topologySpreadConstraints:
    {{- range . }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "triton.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  containers:
    - name: triton
      image: {{ .Values.image.imageName | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      command: [tritonserver]
      args:
        - --readiness=strict
        - --serve-while-loading=true
        - --drain-delay={{ .Values.drainDelaySeconds }}
        - --exit-timeout-secs={{ .Values.exitTimeoutSeconds }}
        - --repository-cache-directory=/var/cache/triton
        {{- if .Values.serverArgs }}
        {{- range .Values.serverArgs }}
        - {{ . | quote }}
        {{- end }}
        {{- else }}
        - {{ printf "--model-repository=%s" (ternary "/models" .Values.image.modelRepositoryPath (ne .Values.image.modelRepositoryServer "")) | quote }}
        {{- end }}
      {{- if or .Values.env .Values.secret.id }}
      env:
        {{- if .Values.secret.id }}
        {{- range $name, $key := dict "AWS_DEFAULT_REGION" "region" "AWS_ACCESS_KEY_ID" "id" "AWS_SECRET_ACCESS_KEY" "key" }}
        - name: {{ $name }}
          valueFrom:
            secretKeyRef:
              name: {{ include "triton.fullname" $ }}
              key: {{ $name }}
        {{- end }}
        {{- end }}
        {{- with .Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- with .Values.envFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - name: http
          containerPort: 8000
        - name: grpc
          containerPort: 8001
        - name: metrics
          containerPort: 8002
      startupProbe:
        httpGet:
          path: /v2/health/ready
          port: http
        periodSeconds: 5
        failureThreshold: {{ max 1 (div .Values.startupSeconds 5) }}
      livenessProbe:
        httpGet:
          path: /v2/health/live
          port: http
        periodSeconds: 10
        timeoutSeconds: 5
      readinessProbe:
        httpGet:
          path: /v2/health/ready
          port: http
        periodSeconds: 3
        failureThreshold: 2
      {{- $resources := deepCopy .Values.resources }}
      {{- if gt (int .Values.image.numGpus) 0 }}
      {{- $_ := set $resources "limits" (merge (dict .Values.gpuResource (int .Values.image.numGpus)) (default dict $resources.limits)) }}
      {{- end }}
      resources:
        {{- toYaml $resources | nindent 8 }}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      volumeMounts:
        - name: cache
          mountPath: /var/cache/triton
        - name: shm
          mountPath: /dev/shm
        - name: tmp
          mountPath: /tmp
        {{- if .Values.image.modelRepositoryServer }}
        - name: models
          mountPath: /models
          readOnly: true
        {{- end }}
        {{- with .Values.volumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- if ne .Values.workload "StatefulSet" }}
    - name: cache
      emptyDir:
        sizeLimit: {{ .Values.cache.size }}
    {{- end }}
    - name: shm
      emptyDir:
        medium: Memory
        sizeLimit: {{ .Values.sharedMemorySize }}
    - name: tmp
      emptyDir: {}
    {{- if .Values.image.modelRepositoryServer }}
    - name: models
      nfs:
        server: {{ .Values.image.modelRepositoryServer }}
        path: {{ .Values.image.modelRepositoryPath }}
        readOnly: true
    {{- end }}
    {{- with .Values.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
