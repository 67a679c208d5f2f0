import {
  bucketSource,
  deliverSource,
  mailSource,
  simulatedHeaders,
  type SourceId,
  sourceIdOf,
} from "../domain/Source.ts"
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
import * as Brevo from "./senders/Brevo.ts"
import * as Klaviyo from "./senders/Klaviyo.ts"
import * as Postmark from "./senders/Postmark.ts"
import * as Resend from "./senders/Resend.ts"
import * as Mailgun from "./senders/Mailgun.ts"
import * as SendGrid from "./senders/SendGrid.ts"
import * as Ses from "./senders/Ses.ts"
import * as SparkPost from "./senders/SparkPost.ts"
import { requestId } from "./signatures/StandardWebhooks.ts"

/** An organization's settings for reading its events. */
export interface Reading {
  /** Lowercase names of business events that count as conversions. `anyName` accepts every name. */
  readonly conversions: ReadonlySet<string>
  /** The mapping of custom events. Undefined: the default shape. */
  readonly mapping: Mapping | undefined
}

/** The settings of an organization that has configured nothing. */
export const defaultReading: Reading = { conversions: new Set(), mapping: undefined }

/**
 * Maximum number of mapping steps for a body that is checked in the service's own process. They need up to about 10 ms.
 */
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
    return CustomEvents.normalize(parsed.json, { receivedAt, webhookId: requestId(headers), conversions, strict })
  }
}

/** How to read the bodies of each source. A new platform needs a file that normalizes, and a line here. */
const sources: { readonly [source in SourceId]: (reading: Reading) => Normalize } = {
  provider_a: ({ conversions }) => Braze.make({ conversions }),
  provider_b: () => Iterable.normalize,
  provider_c: () => CustomerIo.normalize,
  provider_d: ({ conversions }) => SegmentPlatform.make({ conversions }),
  provider_e: () => Sfmc.normalize,
  events: (reading) => customEvents(reading, { strict: true }),
  ses: () => Ses.normalize,
  sendgrid: () => SendGrid.normalize,
  postmark: () => Postmark.normalize,
  resend: () => Resend.normalize,
  brevo: () => Brevo.normalize,
  klaviyo: ({ conversions }) => Klaviyo.make({ conversions }),
  mailgun: () => Mailgun.normalize,
  sparkpost: () => SparkPost.normalize,
}

/** Reads the service's own reports on messages: custom events of the default shape. */
const normalizeReports: Normalize = customEvents(defaultReading, { strict: false })

/**
 * Returns the inbox name of a source in a path: a platform by either of its names, or mail. Undefined for other names.
 */
export const inboxSourceOf = (name: string): SourceId | typeof mailSource | undefined =>
  name === mailSource ? mailSource : sourceIdOf(name)

/** Returns how to read bodies that the service made or received by mail; undefined for bodies of other sources. */
export const ownNormalize = (
  { headers, source }: { readonly source: string; readonly headers: Readonly<Record<string, string>> },
): Normalize | NormalizeMail | undefined => {
  if (source === mailSource) return normalizeMail
  if (source === bucketSource) return SegmentPlatform.normalize
  const isReport = source === deliverSource ||
    headers["parlance-simulated"] === simulatedHeaders["parlance-simulated"]
  return isReport ? normalizeReports : undefined
}

/**
 * Returns how to read small bodies of custom events in the service's own process. If the mapping needs too many steps,
 * the result is `tooMuchWork`.
 */
export const normalizeBeside = (reading: Reading): Normalize => customEvents(reading, { strict: true, isBeside: true })

/** Maximum number of items of one body. A hostile body of 8 MiB could have millions and would delay all others. */
const maxItems = 20_000

/** Smaller bodies cannot contain `maxItems` items. Unit: bytes. */
const countedBytes = 2 * maxItems

/**
 * Returns how to read the bodies of a source for an organization. Expensive to create: keep it until `reading` changes.
 */
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
