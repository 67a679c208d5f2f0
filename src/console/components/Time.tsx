import { t } from "../../languages/Language.ts"
import { dateTime } from "../Format.ts"

/** A time in the organization's zone, with UTC on hover; `none` if there is no time. */
export const Time = ({ at, none = "–", zone }: {
  readonly at: string | null
  readonly zone: string
  readonly none?: string
}) =>
  at === null
    ? <span class="muted">{none}</span>
    : <time dateTime={at} title={t`${at.slice(0, 19).replace("T", " ")} UTC`}>{dateTime(new Date(at), zone)}</time>
