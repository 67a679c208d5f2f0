import type { Normalized } from "../domain/Event.ts"
import * as CustomEvents from "./CustomEvents.ts"

/** A body of which nothing was understood, and why. */
export interface NotUnderstood {
  readonly reason: string
}

/** Brings a stored body to the normal form. Pure, and never throws. */
export type Normalize = (
  body: Uint8Array,
  headers: Readonly<Record<string, string>>,
  receivedAt: number,
) => Normalized | NotUnderstood

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** A body as JSON, or why it is none. */
export const parseJson = (body: Uint8Array): { readonly json: unknown } | NotUnderstood => {
  let text: string
  try {
    text = utf8.decode(body)
  } catch {
    return { reason: "The body is not valid UTF-8" }
  }
  try {
    return { json: JSON.parse(text) as unknown }
  } catch (error) {
    return { reason: `The body is not valid JSON: ${error instanceof Error ? error.message : String(error)}` }
  }
}

const customEvents: Normalize = (body, headers, receivedAt) => {
  const parsed = parseJson(body)
  if (!("json" in parsed)) return parsed
  return CustomEvents.normalize(parsed.json, { receivedAt, webhookId: headers["webhook-id"] })
}

/** The sources by name; a new platform is a file that normalizes, and a line here. */
export const sources: ReadonlyMap<string, Normalize> = new Map([["events", customEvents]])
