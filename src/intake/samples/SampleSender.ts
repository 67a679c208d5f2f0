import { Buffer } from "node:buffer"
import { createHmac } from "node:crypto"
import type { EventName } from "../../domain/EventKinds.ts"

// Common parts of the samples of all platforms.

/** A message that a person received. */
export interface SampleMessage {
  readonly trackingId: string
  readonly user: string
  readonly email: string
  /** The platform's id of the message, which all its events contain. */
  readonly messageId: string
  /** Time of the event. Unit: Unix milliseconds. */
  readonly at: number
}

/** One item of a body. Undefined for events that the platform does not report. */
type Item = Readonly<Record<string, unknown>> | undefined

/** The platform's names of events. */
type Names = { readonly [event in EventName]?: string }

/** How a platform reports events. */
export interface Sender {
  readonly names: Names
  readonly item: (event: EventName, name: string, message: SampleMessage) => Item
  /** Returns the bodies for items, one for each request. */
  readonly bodies: (items: ReadonlyArray<Item>) => ReadonlyArray<unknown>
  /**
   * Whether only the report of the send contains the tracking id. If so, a sample of another event begins with a send.
   */
  readonly startsWithSend: boolean
  /** Returns the headers that authenticate a body. */
  readonly sign: (request: Unsigned) => Readonly<Record<string, string>>
  /** Returns the body with its signature. Default: the signature is not in the body. */
  readonly signBody?: (request: Unsigned) => string
}

/** A request without its signature. */
export interface Unsigned {
  readonly secret: string
  /** The settings of the source. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly body: string
  /** Unix milliseconds. */
  readonly now: number
}

export const link = "https://shop.example.com/sale?utm_source=mail"
export const seconds = (at: number) => Math.floor(at / 1000)
/** Sends each item in a request of its own. */
export const each = (items: ReadonlyArray<Item>): ReadonlyArray<unknown> => items
export const hmac = (algorithm: string, key: string | Uint8Array, text: string) =>
  createHmac(algorithm, key).update(text)

/** Returns the header that contains the token of a source. */
export const tokenHeader = (settings: Unsigned["settings"]): string =>
  typeof settings["header"] === "string" ? settings["header"] : "authorization"

/** Returns the headers of Standard Webhooks, with names that begin with `prefix`. */
export const standardHeaders = (prefix: string, { body, now, secret }: Unsigned): Readonly<Record<string, string>> => {
  const timestamp = String(seconds(now))
  const id = `msg_${hmac("sha256", timestamp, body).digest("hex").slice(0, 24)}`
  const key = Buffer.from(secret.slice("whsec_".length), "base64")
  return {
    [`${prefix}-id`]: id,
    [`${prefix}-timestamp`]: timestamp,
    [`${prefix}-signature`]: `v1,${hmac("sha256", key, `${id}.${timestamp}.${body}`).digest("base64")}`,
  }
}
