import { view } from "../../View.tsx"
import type { AddressedEntry, AuditEntry } from "../../../accounts/Audit.ts"
import { t } from "../../../languages/Language.ts"
import { Card } from "../../components/Card.tsx"
import { Time } from "../../components/Time.tsx"
import { problem, type View } from "../../Routes.tsx"
import { WholeChange } from "./ChangeList.tsx"
import { deedOf } from "./Shown.ts"

const upperFirst = (text: string) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`

/** Reads the number of an entry, or of the start of a page, from a path or query. Undefined for other texts. */
export const entryId = (text: string | null | undefined): number | undefined => {
  const id = Number(text ?? "")
  return Number.isSafeInteger(id) && id > 0 ? id : undefined
}

/** The page of one entry: action, subject, author, time and all stored changes. */
export const entryView = (
  entry: AuditEntry | AddressedEntry | undefined,
  { back, subject, zone }: {
    readonly back: { readonly href: string; readonly label: string }
    readonly subject: string
    readonly zone: string
  },
): View => {
  if (entry === undefined) {
    return problem(
      404,
      t`Change not found`,
      t`It may have been removed after its retention time. The list shows all recorded changes.`,
    )
  }
  const title = upperFirst(deedOf(entry))
  return view(
    {
      title,
      back,
      lead: (
        <>
          {subject !== "" && `${subject}, `}
          {"address" in entry && entry.address !== null
            ? t`by ${entry.actor} from ${entry.address}`
            : t`by ${entry.actor}`}, <Time at={entry.at} zone={zone} />
        </>
      ),
    },
    <Card title={t`What changed`}>
      <WholeChange entry={entry} />
    </Card>,
  )
}
