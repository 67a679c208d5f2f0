import { assert } from "@effect/vitest"
import { Buffer } from "node:buffer"
import type { EventName } from "../../../src/domain/EventKinds.ts"
import { deliveryHeader, normalizeMail } from "../../../src/intake/mail/MailReports.ts"
import * as samples from "./samples.ts"

// Reads mail as the address for bounces does.

const { deliveryId, failed, report } = samples

export const receivedAt = Date.UTC(2026, 10, 23, 9, 30)

export const read = (text: string, headers: Readonly<Record<string, string>> = { [deliveryHeader]: deliveryId }) =>
  normalizeMail(Buffer.from(text, "latin1"), headers, receivedAt)

/** The event of a mail, or the reason for no event: `ignored: …` or `fault: …`. */
export const told = async (text: string, headers?: Readonly<Record<string, string>>): Promise<string> => {
  const normalized = await read(text, headers)
  if ("reason" in normalized) return `fault: ${normalized.reason}`
  const [skipped] = normalized.skipped
  return skipped === undefined ? normalized.events[0]!.event : `ignored: ${skipped.reason}`
}

export const each = async (cases: ReadonlyArray<readonly [what: string, event: EventName | RegExp, text: string]>) => {
  for (const [what, expected, text] of cases) {
    if (typeof expected === "string") assert.strictEqual(await told(text), expected, what)
    else assert.match(await told(text), expected, what)
  }
}

export const postfix = (status: string, diagnostic: string, ...more: ReadonlyArray<string>) =>
  report({ recipients: [failed(status, diagnostic, ...more)] })
