import { hash } from "node:crypto"
import type { Message } from "./Connection.ts"

/** Longest identifier of a campaign in a `Feedback-ID`. */
const maxPart = 64

/** A sender id as Gmail wants it: 5 to 15 characters. */
export const isSenderId = (text: string): boolean => /^[A-Za-z0-9._-]{5,15}$/.test(text)

/** The sender id of an organization without one of its own: its slug, or a name made from a digest of a slug that is none. */
const senderIdOf = (org: string): string => isSenderId(org) ? org : `org-${hash("sha256", org, "hex").slice(0, 11)}`

const partOf = (text: string): string => text.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, maxPart)

/**
 * `Feedback-ID` of a message, `VARIANT:TEMPLATE:KIND:SENDER`, by which Gmail's Postmaster Tools show complaint rates. The kind is
 * `transactional` or `bulk`. All messages of a variant have the same. Source: https://support.google.com/mail/answer/6254652.
 */
export const feedbackIdOf = (
  { copyId, isTransactional, org, templateId }: Pick<Message, "copyId" | "isTransactional" | "org" | "templateId">,
  senderId: string | undefined,
): string =>
  [partOf(copyId), partOf(templateId), isTransactional === true ? "transactional" : "bulk", senderId ?? senderIdOf(org)]
    .join(":")
