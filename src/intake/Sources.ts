import { deliverSource, mailSource, simulatedHeaders, type SourceId, sourceIdOf } from "../domain/Source.ts"
import * as CloudEvents from "./CloudEvents.ts"
import * as CustomEvents from "./CustomEvents.ts"
import { normalizeMail } from "./mail/MailReports.ts"
import { compile, type Mapping } from "./mapping/Mapping.ts"
import type { Normalize, NormalizeMail } from "./Normalize.ts"
import * as Braze from "./platforms/Braze.ts"
import * as CustomerIo from "./platforms/CustomerIo.ts"
import * as Iterable from "./platforms/Iterable.ts"
import * as SegmentPlatform from "./platforms/Segment.ts"
import * as Sfmc from "./platforms/Sfmc.ts"
import { parseJson } from "./Reading.ts"

/** An organization's settings for reading its events. */
export interface Reading {
  /** Names of business events that count as conversions, lowercase; `anyName` where names are not judged. */
  readonly conversions: ReadonlySet<string>
  /** How custom events are shaped; undefined: the default shape. */
  readonly mapping: Mapping | undefined
}

/** An organization that has said nothing. */
export const defaultReading: Reading = { conversions: new Set(), mapping: undefined }

/** Steps of a mapping for a body that is read beside requests, which takes up to about 10 ms. */
const maxStepsBeside = 50_000

const customEvents = (
  { conversions, mapping }: Reading,
  { isBeside = false, strict }: { readonly strict: boolean; readonly isBeside?: boolean },
): Normalize => {
  if (mapping !== undefined) {
    return compile(mapping, { conversions, strict, ...(isBeside ? { maxSteps: maxStepsBeside } : {}) })
  }
  const cloudEvents = CloudEvents.make({ conversions, strict })
  return (body, headers, receivedAt) => {
    if (CloudEvents.isCloudEvents(headers)) return cloudEvents(body, headers, receivedAt)
    const parsed = parseJson(body)
    if (!("json" in parsed)) return parsed
    return CustomEvents.normalize(parsed.json, { receivedAt, webhookId: headers["webhook-id"], conversions, strict })
  }
}

/** How the bodies of each source are read; a new platform is a file that normalizes, and a line here. */
const sources: { readonly [source in SourceId]: (reading: Reading) => Normalize } = {
  provider_a: ({ conversions }) => Braze.make({ conversions }),
  provider_b: () => Iterable.normalize,
  provider_c: () => CustomerIo.normalize,
  provider_d: ({ conversions }) => SegmentPlatform.make({ conversions }),
  provider_e: () => Sfmc.normalize,
  events: (reading) => customEvents(reading, { strict: true }),
}

/** The service's reports on messages that it sent or took into a sink: custom events of the default shape. */
const normalizeReports: Normalize = customEvents(defaultReading, { strict: false })

/** The name in the inbox of a source that a path names: a platform by either of its names, or mail. Undefined for any other. */
export const inboxSourceOf = (name: string): SourceId | typeof mailSource | undefined =>
  name === mailSource ? mailSource : sourceIdOf(name)

/** How a body is read that the service made itself or that came by mail; undefined for bodies of other sources. */
export const ownNormalize = (
  { headers, source }: { readonly source: string; readonly headers: Readonly<Record<string, string>> },
): Normalize | NormalizeMail | undefined => {
  if (source === mailSource) return normalizeMail
  const isReport = source === deliverSource ||
    headers["parlance-simulated"] === simulatedHeaders["parlance-simulated"]
  return isReport ? normalizeReports : undefined
}

/**
 * How small bodies of custom events are read beside requests. A mapping that would take long gives up: it is `tooMuchWork`.
 */
export const normalizeBeside = (reading: Reading): Normalize => customEvents(reading, { strict: true, isBeside: true })

/** Items read of one body at most: a hostile one of 8 MiB could have millions, and would hold everything else up. */
const maxItems = 20_000

/** Smaller bodies cannot have so many. Unit: bytes. */
const countedBytes = 2 * maxItems

/** How the bodies of a source are read for an organization. Costs something to make: keep it while `reading` stands. */
export const normalizer = (source: SourceId, reading: Reading = defaultReading): Normalize => {
  const normalize = sources[source](reading)
  return (body, headers, receivedAt) => {
    if (body.length > countedBytes) {
      const parsed = parseJson(body)
      const items = "json" in parsed ? CustomEvents.countItems(parsed.json) : 0
      if (items > maxItems) return { reason: `The body has ${items} items; at most ${maxItems} are read of one` }
    }
    return normalize(body, headers, receivedAt)
  }
}
