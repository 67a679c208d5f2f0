import { Context } from "effect"

/**
 * Asks whether the message may begin now. A connection calls this right before it sends the first byte about the
 * message. Calls `decide` once, usually synchronously.
 */
export type MayBegin = (decide: (may: boolean) => void) => void

/** The check that each attempt makes before it begins. Default: every message may begin. */
export const MayBegin = Context.Reference<MayBegin>("parlance/delivery/MayBegin", {
  defaultValue: () => (decide) => decide(true),
})
