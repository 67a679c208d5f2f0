import { Context, type Effect } from "effect"

/** Earlier answers of the suppression list, on which senders may still rely. */
export class EarlierAnswers extends Context.Service<EarlierAnswers, {
  /**
   * Waits until no message of the organizations begins on an answer of the suppression list from before the call, on any
   * node. Call it after the commit of a suppression and before its acknowledgement. Takes at most about a second.
   */
  readonly lapsed: (orgs: ReadonlyArray<string>) => Effect.Effect<void>
}>()("parlance/suppressions/EarlierAnswers") {}
