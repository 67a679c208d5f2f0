import type { ComponentChildren } from "preact"
import type { NoticeKind, RequestNotice } from "../../../decide/RequestNotices.ts"
import { t } from "../../../languages/Language.ts"
import { Note } from "../../components/Note.tsx"
import { counted } from "../../Format.ts"

interface Words {
  /** The fault of the requests and its effect. `requests`: their number. `members`: where they had the fault. */
  readonly fault: (requests: ComponentChildren, members: ComponentChildren) => ComponentChildren
  readonly remedy: () => ComponentChildren
}

const words: Readonly<Record<NoticeKind, Words>> = {
  repeated: {
    fault: (requests, members) =>
      t`${requests} in the last 24 hours repeated a tracking id for another person or message, and got the variant that
        was decided first. Nothing is learned from them. What differed in the latest: ${members}.`,
    remedy: () =>
      t`The system that sends them must give each message to each person a tracking id of its own, such as ${(
        <code>spring-2026/ann</code>
      )}, or leave ${<code>tracking_id</code>} out.`,
  },
  unfilled: {
    fault: (requests, members) =>
      t`${requests} in the last 24 hours had a placeholder that nobody filled in. Its text counted as the value: in
        targeting, in learning, and in the message. Where it was in the latest: ${members}.`,
    remedy: () =>
      t`The system that sends them must fill the value in, or leave the member out. The header ${(
        <code>Parlance-Warnings</code>
      )} of the responses has the text, such as ${<code>{"{{customer.tier}}"}</code>} or ${<code>null</code>}.`,
  },
}

/** Says for each kind of notice how many requests it is about, and what to change. */
export const RequestNotes = ({ notices }: { readonly notices: ReadonlyArray<RequestNotice> }) => (
  <>
    {notices.map(({ kind, members, requests }) => (
      <Note kind="warn">
        <p>
          {words[kind].fault(<b>{counted(requests, "request")}</b>, <code>{members}</code>)}
        </p>
        <p>{words[kind].remedy()}</p>
      </Note>
    ))}
  </>
)
