import { Context, type Effect } from "effect"

/** Earlier answers of the suppression list that senders may still use. */
export class EarlierAnswers extends Context.Service<EarlierAnswers, {
  /**
   * Waits until earlier answers of the suppression list, from before this call, have expired on every node, so that no
   * message of the organizations can begin because of them. Call this after the commit of a suppression and before its
   * acknowledgement. Takes up to about 1 second.
   */
  readonly lapsed: (orgs: ReadonlyArray<string>) => Effect.Effect<void>
}>()("parlance/suppressions/EarlierAnswers") {}
