{{- define "parlance.selector" -}}
app.kubernetes.io/name: parlance
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "parlance.labels" -}}
{{ include "parlance.selector" . }}
app.kubernetes.io/part-of: parlance
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{- define "parlance.paths" -}}
{{- range .Values.ingress.paths | default (list "/api" "/console" "/docs" "/openapi.json" "/problems" "/schemas" "/llms.txt" "/llms-full.txt" "/mcp" "/favicon.ico" "/robots.txt" "/.well-known/security.txt" "/c" "/o" "/u" "/i") }}
- path: {{ . | quote }}
  pathType: Prefix
  backend:
    service:
      name: {{ $.Release.Name }}
      port:
        name: http
{{- end }}
{{- end -}}
