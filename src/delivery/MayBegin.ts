import { Context } from "effect"

/**
 * Whether the message may begin to leave now. A connection asks right before the first byte about the message leaves. Calls
 * `decide` once, usually at once.
 */
export type MayBegin = (decide: (may: boolean) => void) => void

/** The question that an attempt has to ask. Default: every message may begin. */
export const MayBegin = Context.Reference<MayBegin>("parlance/delivery/MayBegin", {
  defaultValue: () => (decide) => decide(true),
})
