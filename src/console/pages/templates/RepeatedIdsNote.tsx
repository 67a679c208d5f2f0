/** @jsxImportSource preact */
import type { RepeatedIds } from "../../../decide/RepeatedIdCounts.ts"
import { Note } from "../../components/Note.tsx"
import { counted } from "../../Format.ts"

/** A note with the number of requests that repeated a tracking id for another person or message, and the remedy. */
export const RepeatedIdsNote = ({ repeated }: { readonly repeated: RepeatedIds | undefined }) =>
  repeated === undefined ? null : (
    <Note kind="warn">
      <p>
        <b>{counted(repeated.requests, "request")}</b>{" "}
        in the last 24 hours repeated a tracking id for another person or message, and got the variant that was decided
        first. Nothing is learned from them. What differed in the latest: <code>{repeated.members}</code>.
      </p>
      <p>
        The system that sends them must give each message to each person a tracking id of its own, such as{" "}
        <code>spring-2026/ann</code>, or leave <code>tracking_id</code> out.
      </p>
    </Note>
  )
