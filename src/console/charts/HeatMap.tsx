import type { ComponentChildren } from "preact"
import { weekday } from "../Format.ts"

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
              cell === undefined
                ? <td class="h0">–</td>
                : <td class={`h${shade(cell.share)}`}>{cell.marked === true ? <b>{cell.text}</b> : cell.text}</td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

/** The names of the days, from Monday. */
export const dayNames = (): ReadonlyArray<string> => Array.from({ length: 7 }, (_, day) => weekday(day))

/** One hour of the week in a picture. */
interface WeekCell {
  /** Of the darkest. */
  readonly share: number
  /** Text shown on hover after the name. */
  readonly text: string
  /** Crossed out, wholly or in part. */
  readonly off?: "wholly" | "partly" | undefined
  /** With a frame. */
  readonly marked?: boolean
}

const row = 24
const column = 100 / 24
const percent = (value: number) => `${Math.round(value * 100) / 100}%`

/** The 168 hours of the week as a picture; `cells` from Monday, 0:00. */
export const WeekMap = ({ cells, labelledBy }: {
  readonly labelledBy: string
  readonly cells: ReadonlyArray<WeekCell>
}) => (
  <div class="week">
    <svg class="days" height={7 * row} aria-hidden="true">
      {Array.from({ length: 7 }, (_, day) => <text x="0" y={day * row + 16}>{weekday(day, "short")}</text>)}
    </svg>
    <svg class="cells" height={7 * row} role="img" aria-labelledby={labelledBy}>
      {cells.map(({ marked = false, off, share, text }, at) => {
        const [x, y] = [column * (at % 24), Math.floor(at / 24) * row]
        return (
          <>
            <rect
              class={`h${shade(share)}${marked ? " marked" : ""}`}
              x={percent(x)}
              y={y + 1}
              width={percent(0.92 * column)}
              height={row - 2}
              rx="2"
            >
              <title>{`${weekday(Math.floor(at / 24))} ${at % 24}:00: ${text}`}</title>
            </rect>
            {off !== undefined && (
              <line
                class={`off ${off}`}
                x1={percent(x + 0.12 * column)}
                x2={percent(x + 0.8 * column)}
                y1={y + row - 5}
                y2={y + 5}
              />
            )}
          </>
        )
      })}
    </svg>
    <svg class="hours" height="20" aria-hidden="true">
      {[0, 6, 12, 18].map((hour) => <text x={percent(hour * column)} y="14">{hour}:00</text>)}
    </svg>
  </div>
)

/** Legend of the shades. */
export const ShadeKey = ({ children, from, to }: {
  readonly from: string
  readonly to: string
  /** Of the marks, where there are some. */
  readonly children?: ComponentChildren
}) => (
  <p class="shade-key small muted">
    <span>{from}</span>
    <svg width="136" height="14" aria-hidden="true">
      {Array.from(
        { length: levels },
        (_, i) => <rect class={`h${i + 1}`} x={i * 17} y="0" width="16" height="14" rx="2" />,
      )}
    </svg>
    <span>{to}</span>
    {children}
  </p>
)
