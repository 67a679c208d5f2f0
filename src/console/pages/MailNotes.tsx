import { Effect } from "effect"
import { t } from "../../languages/Language.ts"
import { MailQueue } from "../../mail/MailQueue.ts"
import { Note } from "../components/Note.tsx"
import type { Visit } from "../Routes.tsx"
import { mailTroubles } from "./OverviewTroubles.ts"

/** Why mails of Parlance could not be sent. Empty for visitors who do not administrate the installation. */
export const mailTroublesFor = Effect.fnUntraced(function* ({ session }: Visit) {
  const { backlog, isOn } = yield* MailQueue
  return isOn && session.account.administrator ? mailTroubles(yield* Effect.orDie(backlog)) : []
})

/** A note to administrators on mails of Parlance that could not be sent. */
export const mailFault = (visit: Visit) =>
  Effect.map(mailTroublesFor(visit), (troubles) =>
    troubles.map(({ detail, kind, title }) => (
      <Note kind={kind}>
        <b>{title}.</b> {detail}
      </Note>
    )))

/** How the people at `emails` get their new links: by mails of Parlance, or from the visitor. */
export const linkNotes = Effect.fnUntraced(function* (visit: Visit, emails: ReadonlyArray<string>) {
  const [email = ""] = emails
  if (!(yield* MailQueue).isOn) {
    return (
      <Note kind="warn">
        {emails.length === 1
          ? t`Copy the link now and send it to ${email}: it is shown this once.`
          : t`Copy the links now and send each to its person: they are shown this once.`}
      </Note>
    )
  }
  return (
    <>
      <Note>
        {emails.length === 1
          ? t`A mail with the link will be sent to ${email}. The link is shown this once, in case the mail is
              lost.`
          : t`A mail with the link will be sent to each person. The links are shown this once, in case a mail is
              lost.`}
      </Note>
      {yield* mailFault(visit)}
    </>
  )
})
