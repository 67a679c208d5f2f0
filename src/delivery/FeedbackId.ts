import { hash } from "node:crypto"
import type { Message } from "./Connection.ts"

/** Maximum length of the identifiers of variant and template in a `Feedback-ID`. Unit: characters. */
const maxPart = 64

/** Whether a text is a valid sender id for Gmail: 5 to 15 characters. */
export const isSenderId = (text: string): boolean => /^[A-Za-z0-9._-]{5,15}$/.test(text)

/**
 * The default sender id of an organization: its slug if that is valid, otherwise a name derived from the slug's digest.
 */
const senderIdOf = (org: string): string => isSenderId(org) ? org : `org-${hash("sha256", org, "hex").slice(0, 11)}`

const partOf = (text: string): string => text.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, maxPart)

/**
 * The `Feedback-ID` of a message, `VARIANT:TEMPLATE:KIND:SENDER`. Gmail's Postmaster Tools report complaint rates by
 * it. The kind is `transactional` or `bulk`. All messages of a variant and kind have one value. Source:
 * https://support.google.com/mail/answer/6254652.
 */
export const feedbackIdOf = (
  { copyId, isTransactional, org, templateId }: Pick<Message, "copyId" | "isTransactional" | "org" | "templateId">,
  senderId: string | undefined,
): string =>
  [partOf(copyId), partOf(templateId), isTransactional === true ? "transactional" : "bulk", senderId ?? senderIdOf(org)]
    .join(":")
