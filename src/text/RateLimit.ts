import { Schema } from "effect"

/** Windows over which a limit counts, and their length in milliseconds. */
export const windowMillis = { second: 1000, minute: 60_000 }

/** The largest number of requests in every sliding window: 1 to 1,000,000. */
export const RateLimit = Schema.Struct({
  requests: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })),
  per: Schema.Literals(["second", "minute"]),
})
export type RateLimit = typeof RateLimit.Type

/** Parses a rate limit such as `100/second`. Returns undefined for invalid text. */
export const parseRateLimit = (text: string): RateLimit | undefined => {
  const [, requests, per] = /^([1-9]\d{0,6})\s*\/\s*(second|minute)$/.exec(text.trim()) ?? []
  return requests === undefined || Number(requests) > 1_000_000
    ? undefined
    : { requests: Number(requests), per: per as RateLimit["per"] }
}

/** The text of a limit, such as `100/second`. */
export const formatRateLimit = ({ per, requests }: RateLimit): string => `${requests}/${per}`
