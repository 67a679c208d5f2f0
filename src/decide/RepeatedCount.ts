import { Context, Metric } from "effect"

const repeated = Metric.counter("parlance_repeated_tracking_ids_total", { incremental: true })

const process = Context.empty()

/** Registers the counter with the value 0. */
export const showRepeated = Metric.update(repeated, 0)

/** Counts a request that repeated a tracking id for another person or message. */
export const countRepeated = (): void => repeated.updateUnsafe(1, process)
