import { Effect } from "effect"
import { letOthersRun } from "../runtime/letOthersRun.ts"
import { type BodySearch, overlapBytes, partBytes } from "./BodySearch.ts"

/** Searches bytes in parts. Other fibers of this thread can run after each part. */
export const isInParts = Effect.fnUntraced(function* (
  search: BodySearch,
  bytes: Uint8Array,
  { isFirst, isLast }: { readonly isFirst: boolean; readonly isLast: boolean },
) {
  for (let from = 0; from < bytes.length; from += partBytes - overlapBytes) {
    const isEnd = from + partBytes >= bytes.length
    const part = { isFirst: isFirst && from === 0, isLast: isLast && isEnd }
    if (search.isIn(bytes.subarray(from, from + partBytes), part)) return true
    yield* letOthersRun
    if (isEnd) return false
  }
  return false
})

/** The position of bytes that are a complete body. */
export const whole = { isFirst: true, isLast: true }
