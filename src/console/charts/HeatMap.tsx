// deno-lint-ignore-file jsx-key -- rendered once, on the server
/** @jsxImportSource preact */
import type { ComponentChildren } from "preact"

const levels = 8

/** Which of nine shades stands for a share of the greatest value, 0 for nothing at all. */
export const shade = (share: number): number => share > 0 ? Math.min(levels, Math.ceil(share * levels)) : 0

/** A table whose cells are shaded; the number is written in each, so that no shade has to be compared. */
export const HeatTable = ({ caption, headings, rows }: {
  readonly caption: string
  readonly headings: ReadonlyArray<string>
  readonly rows: ReadonlyArray<{
    readonly heading: ComponentChildren
    /** `share` of the darkest; undefined: nothing to show. */
    readonly cells: ReadonlyArray<
      { readonly text: ComponentChildren; readonly share: number; readonly marked?: boolean } | undefined
    >
  }>
}) => (
  <div class="table-scroll" tabIndex={0} role="region" aria-label={caption}>
    <table class="heat">
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>{headings.map((heading) => <th scope="col">{heading}</th>)}</tr>
      </thead>
      <tbody>
        {rows.map(({ cells, heading }) => (
          <tr>
            <th scope="row">{heading}</th>
            {cells.map((cell) =>
              cell === undefined ? <td class="h0">–</td> : (
                <td class={`h${shade(cell.share)}`}>
                  {cell.marked === true ? <b>{cell.text}</b> : cell.text}
                </td>
              )
            )}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

export const dayNames = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"] as const

/** The 168 hours of the week as a picture; `values` from Monday, 0:00. */
export const WeekMap = ({ labelledBy, values, what }: {
  readonly labelledBy: string
  readonly values: ReadonlyArray<number>
  readonly what: string
}) => {
  const most = Math.max(...values)
  const percent = (share: number) => `${Math.round(share * 10_000) / 100}%`
  return (
    <div class="week">
      <svg class="days" height="168" aria-hidden="true">
        {dayNames.map((name, day) => <text x="0" y={day * 24 + 16}>{name.slice(0, 3)}</text>)}
      </svg>
      <svg class="cells" height="168" role="img" aria-labelledby={labelledBy}>
        {values.map((value, at) => (
          <rect
            class={`h${shade(most > 0 ? value / most : 0)}`}
            x={percent(at % 24 / 24)}
            y={Math.floor(at / 24) * 24 + 1}
            width={percent(0.92 / 24)}
            height="22"
            rx="2"
          >
            <title>{`${dayNames[Math.floor(at / 24)]} ${at % 24}:00: ${Math.round(value)} ${what}`}</title>
          </rect>
        ))}
      </svg>
      <svg class="hours" height="20" aria-hidden="true">
        {[0, 6, 12, 18].map((hour) => <text x={percent(hour / 24)} y="14">{hour}:00</text>)}
      </svg>
    </div>
  )
}

/** What the shades mean. */
export const ShadeKey = ({ from, to }: { readonly from: string; readonly to: string }) => (
  <p class="shade-key small muted">
    <span>{from}</span>
    <svg width="136" height="14" aria-hidden="true">
      {Array.from(
        { length: levels },
        (_, i) => <rect class={`h${i + 1}`} x={i * 17} y="0" width="16" height="14" rx="2" />,
      )}
    </svg>
    <span>{to}</span>
  </p>
)
