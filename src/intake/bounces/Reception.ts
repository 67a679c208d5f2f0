import { Clock, Context, Duration, Effect, FiberSet } from "effect"
import { Buffer } from "node:buffer"
import type { SMTPServerDataStream, SMTPServerSession } from "smtp-server"
import { networkOf } from "../../text/Addresses.ts"
import { batchBytes } from "../../journal/inbox/Inbox.ts"
import { deliveryHeader, isReport, senderHeader } from "../mail/MailReports.ts"
import { readHeaders } from "../mail/ReceivedMail.ts"
import { mailSource } from "../../domain/Source.ts"
import { PromptIntake } from "../PromptIntake.ts"
import { WebhookQuota } from "../WebhookQuota.ts"
import { Tracking } from "../../tracking/Tracking.ts"
import type { BounceMailbox } from "../../tracking/BounceAddress.ts"
import { count, type EndCommand, initializeMetrics, type MailRefusal, refusals, refuse } from "./Replies.ts"
import { ReportCounts } from "./ReportCounts.ts"
import { makeComplaintOrigin } from "./ComplaintOrigin.ts"

/** Limits of the listener. */
export interface ListenerLimits {
  /** Maximum number of concurrent connections, in total and from one address (IPv6: one /64). */
  readonly connections: number
  readonly connectionsOfAddress: number
  /** Maximum idle time of a client, and maximum duration of a session. */
  readonly idle: Duration.Input
  readonly session: Duration.Input
  /** Maximum number of mails, and of unknown recipients, in one session. */
  readonly mails: number
  readonly unknownRecipients: number
  /** Maximum size of a mail, and how much of its beginning is stored. Unit: bytes. */
  readonly mailBytes: number
  readonly storedBytes: number
  /** Maximum number of mails about one delivery that a node receives in an hour. */
  readonly mailsOfDelivery: number
}

/** The limits, which tests replace. Default: the limits below. */
export const Limits = Context.Reference<ListenerLimits>("parlance/intake/bounces/Limits", {
  defaultValue: () => ({
    connections: 100,
    connectionsOfAddress: 25,
    idle: "1 minute",
    session: "5 minutes",
    mails: 100,
    unknownRecipients: 3,
    mailBytes: 10 * 1024 * 1024,
    // A report has its parts at the start and the original message at the end, so only the start is stored.
    storedBytes: batchBytes,
    mailsOfDelivery: 20,
  }),
})

/** Number of bytes of a header section that are read to decide whether a mail is a report. */
const headerBytes = 32 * 1024

/** The state of a session. */
interface Session {
  readonly network: string
  readonly timer: ReturnType<typeof setTimeout>
  mails: number
  unknown: number
  mailbox: BounceMailbox | undefined
  isReceiving: boolean
}

/** The part of an address before the `@`. */
const localPartOf = (address: string): string => address.slice(0, Math.max(0, address.lastIndexOf("@")))

/** Maximum length of a stored envelope address. Unit: characters. */
const maxAddress = 320

/**
 * Handlers of the SMTP server. They accept mail only for signed mailboxes, and reply 250 after the mail was applied. A
 * report that is sent again after a crash becomes an equal event.
 */
export const makeReception = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const tracking = yield* Tracking
  const promptIntake = yield* PromptIntake
  const quota = yield* WebhookQuota
  const limits = yield* Limits
  const originOf = yield* makeComplaintOrigin
  const run = yield* FiberSet.makeRuntime()
  const sessions = new Map<string, Session>()
  const counts = new ReportCounts(limits.mailsOfDelivery)
  yield* initializeMetrics

  const open = (id: string, remoteAddress: string, end: () => void): boolean => {
    const network = networkOf(remoteAddress)
    let ofNetwork = 0
    for (const session of sessions.values()) if (session.network === network) ofNetwork++
    if (ofNetwork >= limits.connectionsOfAddress) return false
    const timer = setTimeout(end, Duration.toMillis(Duration.fromInputUnsafe(limits.session)))
    sessions.set(id, { network, timer, mails: 0, unknown: 0, mailbox: undefined, isReceiving: false })
    return true
  }

  const close = (id: string) => {
    clearTimeout(sessions.get(id)?.timer)
    sessions.delete(id)
  }

  /** Counts a mail of a session. Returns false if the session has reached its limit. */
  const begin = (id: string): boolean => {
    const session = sessions.get(id)
    return session !== undefined && ++session.mails <= limits.mails
  }

  /** Returns why mail to a mailbox is currently refused, if it is. */
  const refusalOf = ({ delivery, org }: BounceMailbox): Effect.Effect<MailRefusal | undefined> =>
    delivery !== undefined && !counts.admits(delivery, clock.currentTimeMillisUnsafe())
      ? Effect.succeed(refusals.tooManyReports)
      : Effect.match(quota.check(org), { onFailure: () => refusals.quota, onSuccess: () => undefined })

  const admit = (session: Session, address: string, done: EndCommand) =>
    Effect.gen(function* () {
      const mailbox = yield* tracking.openMailbox(localPartOf(address))
      if (mailbox === undefined) {
        return refuse(done, ++session.unknown < limits.unknownRecipients ? refusals.unknown : refusals.tooManyUnknown)
      }
      const refusal = yield* refusalOf(mailbox)
      if (refusal !== undefined) return refuse(done, refusal)
      session.mailbox = mailbox
      done()
    }).pipe(Effect.catchCause(() => Effect.sync(() => refuse(done, refusals.unavailable))))

  const store = Effect.fnUntraced(
    function* (
      mailbox: BounceMailbox,
      { envelope: { mailFrom, rcptTo }, remoteAddress }: SMTPServerSession,
      { body, bytes }: { readonly body: Buffer; readonly bytes: number },
    ) {
      const sender = mailFrom === false ? "" : mailFrom.address
      const fields = yield* Effect.promise(() => readHeaders(body.toString("latin1", 0, headerBytes)))
      // The refusal informs people who reply to a message that this mailbox is not read.
      if (sender !== "" && mailbox.delivery !== undefined && !isReport(fields)) return refusals.noReport
      const { delivery, org } = mailbox
      const origin = delivery === undefined
        ? yield* originOf({ org, body, isWhole: bytes === body.length })
        : { [deliveryHeader]: delivery }
      const headers = {
        ...origin,
        [senderHeader]: sender.slice(0, maxAddress),
        "rcpt-to": (rcptTo[0]?.address ?? "").slice(0, maxAddress),
        "client-address": remoteAddress,
        ...(bytes > body.length ? { "size": String(bytes) } : {}),
      }
      yield* promptIntake.take({ org: mailbox.org, source: mailSource, headers, body })
      quota.add(mailbox.org, body.length)
      count("stored")
      return undefined
    },
    Effect.catchCause(() => Effect.succeed(refusals.unavailable)),
  )

  const receive = (
    stream: SMTPServerDataStream,
    smtp: SMTPServerSession,
    session: Session,
    done: EndCommand,
    end: (refusal: MailRefusal) => void,
  ) => {
    const chunks: Array<Uint8Array> = []
    let kept = 0
    session.isReceiving = true
    // Also counts mails that are refused later, because receiving costs more than storing.
    const delivery = session.mailbox?.delivery
    if (delivery !== undefined) counts.add(delivery, clock.currentTimeMillisUnsafe())
    const answered: EndCommand = (error) => {
      session.isReceiving = false
      done(error)
    }
    stream.on("data", (chunk: Uint8Array) => {
      if (kept < limits.storedBytes) {
        const part = chunk.subarray(0, limits.storedBytes - kept)
        chunks.push(part)
        kept += part.length
      }
      // Otherwise the server would read the rest of the mail, however long, before it refuses the mail.
      if (stream.byteLength > 2 * limits.mailBytes) end(refusals.tooLarge)
    })
    stream.on("end", () => {
      const { mailbox } = session
      session.mailbox = undefined
      if (stream.sizeExceeded) return refuse(answered, refusals.tooLarge)
      if (mailbox === undefined) return refuse(answered, refusals.unavailable)
      const mail = { body: Buffer.concat(chunks), bytes: stream.byteLength }
      run(Effect.map(store(mailbox, smtp, mail), (refusal) => {
        if (refusal === undefined) answered()
        else refuse(answered, refusal)
      }))
    })
  }

  return {
    sessions,
    open,
    close,
    begin,
    admit: (...given: Parameters<typeof admit>) => run(admit(...given)),
    receive,
    isReceiving: (id: string): boolean => sessions.get(id)?.isReceiving === true,
  }
})
