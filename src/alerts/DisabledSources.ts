import { Context } from "effect"
import type { SourceId } from "../domain/Source.ts"

/** Whether an organization has disabled a webhook source, which is then expected to be silent. */
export class DisabledSources extends Context.Service<
  DisabledSources,
  (org: string, source: SourceId) => boolean
>()("parlance/alerts/DisabledSources") {}
