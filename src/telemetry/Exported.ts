import { Context } from "effect"

/** Whether metrics are sent to a collector, so that gauges have to be up to date without anybody asking for them. */
export const Exported = Context.Reference<boolean>("parlance/telemetry/Exported", { defaultValue: () => false })

/** How often they are sent. */
export const exportMetricsEvery = "10 seconds"
