import { Context } from "effect"

/** Whether metrics are sent to a collector, so that gauges must be updated even if no client reads `/metrics`. */
export const Exported = Context.Reference<boolean>("parlance/telemetry/Exported", { defaultValue: () => false })

/** Interval at which metrics are sent. */
export const exportMetricsEvery = "10 seconds"
