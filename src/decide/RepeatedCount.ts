import { Context, Metric } from "effect"

const repeated = Metric.counter("parlance_repeated_tracking_ids_total", { incremental: true })

const process = Context.empty()

/** Shows the counter before the first repeated tracking id. */
export const showRepeated = Metric.update(repeated, 0)

/** Counts a request that repeated a tracking id for another person or message. */
export const countRepeated = (): void => repeated.updateUnsafe(1, process)
