import { Effect, Layer, Logger, Option, Redacted, Tracer } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { OtlpExporter, OtlpLogger, OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"
import { randomUUID } from "node:crypto"
import { version } from "../domain/Version.ts"
import { Settings } from "../settings/Settings.ts"
import { discreet } from "./Discreet.ts"
import { Exported, exportMetricsEvery } from "./Exported.ts"
import { onlyBegun, TraceShare } from "./Tracing.ts"

/** Interval at which collected spans and logs are sent to the collector. */
const exportEvery = "2 seconds"

/** Timeout of a batch. After it, the batch counts as lost. */
const patience = "5 seconds"

/** Maximum time that each kind of telemetry may delay the end of the process. */
const lastPatience = "1 second"

/** Sends to a collector, with a timeout. */
const layerClient = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(
    HttpClient.HttpClient,
    HttpClient.transform((effect, request) =>
      Effect.timeoutOrElse(effect, {
        duration: patience,
        orElse: () => Effect.die(new Error(`${request.method} to the collector took longer than ${patience}`)),
      })
    ),
  ),
).pipe(Layer.provide(FetchHttpClient.layer))

/**
 * Exports traces, metrics and logs over OTLP/HTTP to `OTEL_EXPORTER_OTLP_ENDPOINT`. Disabled without it. Data for an
 * unreachable collector is dropped. Only shutdown waits for the export, for a few seconds.
 */
export const layer = Layer.unwrap(Effect.map(Settings, (settings) => {
  const { otlpEndpoint, otlpHeaders, otlpProtocol, resourceAttributes, serviceName, traceShare } = settings
  if (Option.isNone(otlpEndpoint)) return Layer.empty
  const to = (signal: string) => ({
    url: `${otlpEndpoint.value.href.replace(/\/$/, "")}/v1/${signal}`,
    headers: Redacted.value(otlpHeaders),
    resource: {
      serviceName,
      serviceVersion: version,
      attributes: { "service.instance.id": randomUUID(), ...resourceAttributes },
    },
    shutdownTimeout: lastPatience,
  } as const)
  const layerTraces = Layer.merge(
    Layer.effect(
      Tracer.Tracer,
      Effect.map(OtlpTracer.make({ ...to("traces"), exportInterval: exportEvery }), onlyBegun),
    ),
    Layer.succeed(TraceShare, traceShare),
  )
  const layerLogs = Logger.layer([
    Effect.map(
      OtlpLogger.make({ ...to("logs"), exportInterval: exportEvery, excludeLogSpans: true }),
      discreet,
    ),
  ], { mergeWithExisting: true })
  const layerMetrics = Layer.merge(
    Layer.effectDiscard(OtlpMetrics.make({ ...to("metrics"), exportInterval: exportMetricsEvery })),
    Layer.succeed(Exported, true),
  )
  return Layer.mergeAll(layerTraces, layerLogs, layerMetrics).pipe(
    Layer.provide(OtlpExporter.layerFlusher),
    Layer.provide(otlpProtocol === "http/json" ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf),
    Layer.provide(layerClient),
  )
}))
