import { Result, Schema } from "effect"
import type { Fault } from "../domain/Errors.ts"
import { decoder, pointerTo } from "../domain/Faults.ts"
import { platforms, type SourceId } from "../domain/Source.ts"
import { decode as decodeMapping, type Mapping } from "./mapping/Mapping.ts"
import { settingsOf } from "./signatures/Verify.ts"
import type { Reading } from "./Sources.ts"

/** Settings of a source as entered: options of its platform, and how its events are read. */
export type SourceSettings = Readonly<Record<string, unknown>>

/** Maximum number of names of business events that count as conversions. */
const maxConversions = 200

/** Settings of each source for reading events. Other platforms have fixed event names and no such settings. */
const readingOptions: { readonly [source in SourceId]?: ReadonlyArray<string> } = {
  provider_a: ["conversions"],
  provider_d: ["conversions"],
  events: ["conversions", "mapping"],
  klaviyo: ["conversions"],
}

/** The sources that have event names of their own, which can be declared as conversions. */
export const namedSources = Object.keys(readingOptions) as ReadonlyArray<SourceId>

const decodeNames = decoder(
  Schema.Array(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)))
    .check(Schema.isMaxLength(maxConversions)),
)

const within = (pointer: string, faults: ReadonlyArray<Fault>): ReadonlyArray<Fault> =>
  faults.map((fault) => ({ ...fault, pointer: `${pointer}${fault.pointer}` }))

/** Returns a source's settings for reading events, and every fault in them. */
export const readingOf = (
  source: SourceId,
  settings: SourceSettings,
): { readonly reading: Reading; readonly faults: ReadonlyArray<Fault> } => {
  const faults: Array<Fault> = []
  let conversions: ReadonlySet<string> = new Set()
  let mapping: Mapping | undefined
  if (settings["conversions"] !== undefined) {
    const decoded = decodeNames(settings["conversions"])
    if (Result.isSuccess(decoded)) conversions = new Set(decoded.success.map((name) => name.toLowerCase()))
    else faults.push(...within("/settings/conversions", decoded.failure))
  }
  if (settings["mapping"] !== undefined && source === "events") {
    const decoded = decodeMapping(settings["mapping"])
    if (Result.isSuccess(decoded)) mapping = decoded.success
    else faults.push(...within("/settings/mapping", decoded.failure))
  }
  return { reading: { conversions, mapping }, faults }
}

/** Returns the platform options, which the signature check uses. */
export const withoutReading = (settings: SourceSettings): SourceSettings => {
  const { conversions: _, mapping: __, ...rest } = settings
  return rest
}

/** Returns faults for unknown settings. Otherwise a misspelled name would be ignored silently. */
export const unknownFaults = (source: SourceId, settings: SourceSettings): ReadonlyArray<Fault> => {
  const platform = platforms[source]
  const options = Object.keys(settingsOf(platform).fields).filter((name) => name !== "secrets")
  const known = [...options, ...readingOptions[source] ?? []].sort()
  const named = source === platform ? source : `${source} (${platform})`
  return Object.keys(settings).filter((name) => !known.includes(name)).map((name) => ({
    pointer: `/settings${pointerTo([name])}`,
    detail: `is not a setting of ${named}. Its settings are ${known.join(", ")}`,
  }))
}

/** Returns faults of a platform's options, and of a new secret if present. */
export const optionFaults = (
  source: SourceId,
  settings: SourceSettings,
  secrets: ReadonlyArray<string> | undefined,
): ReadonlyArray<Fault> => {
  const decoded = decoder(settingsOf(platforms[source]) as Schema.ConstraintDecoder<unknown>)({
    ...withoutReading(settings),
    secrets: secrets ?? [],
  })
  if (Result.isSuccess(decoded)) return []
  return decoded.failure.flatMap(({ detail, pointer }) => {
    if (!pointer.startsWith("/secrets")) return [{ pointer: `/settings${pointer}`, detail }]
    if (secrets === undefined) return []
    return [{
      pointer: "/secret",
      detail: secrets.length > 0 || detail.startsWith("is required") ? detail : "is required to set this source up",
    }]
  })
}
