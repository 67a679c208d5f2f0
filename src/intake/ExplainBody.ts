import { type DryRun, type Explained, maxExplained } from "../domain/DryRun.ts"
import type { SourceId } from "../domain/Source.ts"
import { normalizer, type Reading } from "./Sources.ts"

/** Explains how a body of a source would be understood. Stores nothing. */
export const explainBody = (
  source: SourceId,
  reading: Reading | undefined,
  body: Uint8Array,
  headers: Readonly<Record<string, string>>,
  receivedAt: number,
): DryRun => {
  const read = normalizer(source, reading)(body, headers, receivedAt)
  if ("reason" in read) return { reason: read.reason }
  const { erasures = [], events, incomplete = [], items, profiles = [], skipped } = read
  const explained: ReadonlyArray<Explained> = [
    ...events.map((event) => ({ event, found: {} })),
    ...skipped.map(({ pointer, ...skipped }) => ({ pointer, skipped, found: {} })),
  ]
  return {
    items,
    explained: explained.slice(0, maxExplained),
    ...(incomplete.length === 0
      ? {}
      : { incomplete: incomplete.slice(0, maxExplained).map(({ pointer, reason }) => ({ pointer, reason })) }),
    ...(profiles.length === 0 ? {} : { profiles: profiles.length }),
    ...(erasures.length === 0 ? {} : { erasures: erasures.length }),
  }
}
