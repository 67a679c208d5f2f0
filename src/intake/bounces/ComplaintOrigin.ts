import { Clock, Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { Buffer } from "node:buffer"
import { readSignedMail } from "../../delivery/dkim/DkimVerification.ts"
import { DnsRecords } from "../../delivery/receivers/DnsRecords.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { Settings } from "../../settings/Settings.ts"
import { returnPathsIn } from "../../tracking/BounceAddress.ts"
import { Tracking } from "../../tracking/Tracking.ts"
import { signedDeliveriesHeader, verifiedSenderHeader } from "../mail/MailReports.ts"
import { addressIn, isAligned, isComplaintSender } from "./ComplaintSenders.ts"

/** A mail to the address for complaints. */
interface Complaint {
  readonly org: OrgSlug
  /** The beginning of the mail. */
  readonly body: Buffer
  /** Whether `body` is the whole mail, so that its signature can be verified. */
  readonly isWhole: boolean
}

/**
 * Finds evidence of the origin of complaints, as headers to store with the mail: the deliveries whose signed return path
 * the mail contains, which only holders of the message know, and the verified sender if it is a known feedback loop. Queries DNS only
 * for mail that claims to come from a feedback loop. If DNS does not work, there is no verified sender.
 */
export const makeComplaintOrigin = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const dns = yield* DnsRecords
  const tracking = yield* Tracking
  const { complaintSenders } = yield* Settings

  const signedDeliveries = Effect.fnUntraced(function* ({ body, org }: Complaint) {
    const mailboxes = yield* Effect.forEach(returnPathsIn(body.toString("latin1")), tracking.openMailbox)
    return mailboxes.flatMap((mailbox) => mailbox?.org === org ? mailbox.delivery ?? [] : [])
  })

  const verifiedSender = Effect.fnUntraced(function* ({ body, isWhole }: Complaint) {
    if (!isWhole) return undefined
    const { from, signaturesOf } = readSignedMail(body, clock.currentTimeMillisUnsafe())
    const sender = from === undefined ? undefined : addressIn(from)
    if (sender === undefined || !isComplaintSender(sender, complaintSenders)) return undefined
    for (const { keyName, verifies } of signaturesOf((domain) => isAligned(domain, sender))) {
      const answer = yield* dns.txt(keyName)
      if (answer._tag === "found" && answer.texts.some(verifies)) return sender.toLowerCase()
    }
    return undefined
  })

  return Effect.fn("ComplaintOrigin.find")(
    function* (complaint: Complaint): Effect.fn.Return<Readonly<Record<string, string>>, SqlError> {
      const deliveries = yield* signedDeliveries(complaint)
      if (deliveries.length > 0) return { [signedDeliveriesHeader]: deliveries.join(" ") }
      const sender = yield* verifiedSender(complaint)
      return sender === undefined ? {} : { [verifiedSenderHeader]: sender }
    },
  )
})
