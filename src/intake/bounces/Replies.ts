import { Context, Effect, Metric } from "effect"

// Replies of the listener for bounces, and their counters.

/** Outcomes of mails that clients offered to the listener. */
const outcomes = ["stored", "unknown_recipient", "no_report", "too_large", "limited", "unavailable"] as const
type MailOutcome = typeof outcomes[number]
const mails = (outcome: MailOutcome) =>
  Metric.counter("parlance_bounce_mails_total", { incremental: true, attributes: { outcome } })
const counters = Object.fromEntries(outcomes.map((outcome) => [outcome, mails(outcome)])) as Record<
  MailOutcome,
  ReturnType<typeof mails>
>

/** A refusing reply to a command, such as `550 5.1.1 No such mailbox`. Code 421 ends the session. */
export interface MailRefusal {
  readonly outcome: MailOutcome
  readonly reply: string
}

/** All refusals. */
export const refusals = {
  unknown: {
    outcome: "unknown_recipient",
    reply: "550 5.1.1 No such mailbox. This server takes reports about messages that it has sent, and no other mail",
  },
  tooManyUnknown: { outcome: "unknown_recipient", reply: "421 4.7.0 Too many recipients that do not exist" },
  noReport: {
    outcome: "no_report",
    reply: "550 5.7.1 Nobody reads this mailbox: it takes delivery reports. Write to the address in From instead",
  },
  tooLarge: { outcome: "too_large", reply: "552 5.3.4 The mail is too large for a report" },
  tooManyReports: { outcome: "limited", reply: "450 4.2.1 Too many reports about this message. Try again in an hour" },
  tooManyConnections: { outcome: "limited", reply: "421 4.7.0 Too many connections from this address" },
  tooManyMails: { outcome: "limited", reply: "421 4.7.0 Too many mails in one session. Connect again" },
  quota: { outcome: "limited", reply: "452 4.3.1 The organization may store no more today" },
  unavailable: { outcome: "unavailable", reply: "451 4.3.0 The mail cannot be stored now. Try again later" },
} as const satisfies Readonly<Record<string, MailRefusal>>

/** Initialises the counters to 0, so that each has a series from the start. */
export const initializeMetrics = Effect.forEach(outcomes, (outcome) => Metric.update(counters[outcome], 0), {
  discard: true,
})

/** Counts a mail. */
export const count = (outcome: MailOutcome): void => counters[outcome].updateUnsafe(1, Context.empty())

/** The callback that ends a command of `smtp-server`. */
export type EndCommand = (error?: Error | null) => void

/** Refuses a client's command and counts the refusal. */
export const refuse = (done: EndCommand, { outcome, reply }: MailRefusal): void => {
  count(outcome)
  done(Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) }))
}
