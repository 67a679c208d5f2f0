/** @jsxImportSource preact */

const formats = new Map<string, Intl.DateTimeFormat>()

const formatOf = (zone: string): Intl.DateTimeFormat => {
  const known = formats.get(zone)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: zone })
  if (formats.size < 1000) formats.set(zone, made)
  return made
}

/** A time in the organization's zone, with UTC on hover. Without one, `none`. */
export const Time = ({ at, none = "–", zone }: {
  readonly at: string | null
  readonly zone: string
  readonly none?: string
}) =>
  at === null
    ? <span class="muted">{none}</span>
    : (
      <time dateTime={at} title={`${at.slice(0, 19).replace("T", " ")} UTC`}>
        {formatOf(zone).format(new Date(at))}
      </time>
    )
