import type { ComponentChildren } from "preact"
import type { NoticeKind, RequestNotice } from "../../../decide/RequestNotices.ts"
import { english, t } from "../../../languages/Language.ts"
import { Note } from "../../components/Note.tsx"
import { counted } from "../../Format.ts"

interface Words {
  /** The fault of the requests and its effect. Follows the number of requests in a sentence. */
  readonly did: string
  /** What the members are. */
  readonly members: string
  readonly remedy: ComponentChildren
}

const words: Readonly<Record<NoticeKind, Words>> = {
  repeated: {
    did: english(
      "repeated a tracking id for another person or message, and got the variant that was decided first. Nothing is " +
        "learned from them.",
    ),
    members: english("What differed in the latest:"),
    remedy: (
      <>
        {t`The system that sends them must give each message to each person a tracking id of its own, such as ${(
          <code>{t`spring-2026/ann`}</code>
        )},
          or leave ${<code>{t`tracking_id`}</code>} out.`}
      </>
    ),
  },
  unfilled: {
    did: english(
      "had a placeholder that nobody filled in. Its text counted as the value: in targeting, in learning, and in the " +
        "message.",
    ),
    members: english("Where it was in the latest:"),
    remedy: (
      <>
        {t`The system that sends them must fill the value in, or leave the member out. The header ${(
          <code>{t`Parlance-Warnings`}</code>
        )} of
          the responses has the text, such as ${<code>{english("{{customer.tier}}")}</code>} or ${(
          <code>{t`null`}</code>
        )}.`}
      </>
    ),
  },
}

/** Says for each kind of notice how many requests it is about, and what to change. */
export const RequestNotes = ({ notices }: { readonly notices: ReadonlyArray<RequestNotice> }) => (
  <>
    {notices.map(({ kind, members, requests }) => (
      <Note kind="warn">
        <p>
          {t`${<b>{counted(requests, "request")}</b>} in the last 24 hours ${words[kind].did} ${words[kind].members} ${(
            <code>{members}</code>
          )}.`}
        </p>
        <p>{words[kind].remedy}</p>
      </Note>
    ))}
  </>
)
