import { chartData, type ChartFormat } from "./ChartData.ts"
import { Legend } from "./Figure.tsx"
import { percent } from "../Format.ts"
import { ticks } from "./Ticks.ts"

/** One line over time, with one value for each time. Null for a time without a value. */
interface ChartLine {
  /** Which colour and dash, 0 to 5. */
  readonly series: number
  readonly name: string
  readonly values: ReadonlyArray<number | null>
  /** The band around it. */
  readonly bands?: ReadonlyArray<readonly [low: number, high: number] | null>
}

interface Common {
  /** Id of the title of the figure. */
  readonly labelledBy: string
  /** Unix milliseconds, ascending. */
  readonly times: ReadonlyArray<number>
  /** From this time on outcomes are still coming in; undefined: nothing is. */
  readonly incompleteFrom?: number | undefined
  /** Changes on the axis of time, in the order of their time. */
  readonly marked?: ReadonlyArray<{ readonly at: number; readonly text: string }> | undefined
  readonly formatTime: (time: number) => string
  readonly formatValue: (value: number) => string
  /** How the script of the page writes the values; without it the chart stays a picture. */
  readonly format?: ChartFormat | undefined
}

const height = 220
/** Room that the label of a line needs, as a share of the height. */
const labelRoom = 17 / height
const size = 1000

/** A point of a path, on a square of `size` units. */
type Point = readonly [x: number, y: number]

/** The path through points, in whole units and relative to the point before: a third of the size of absolute points. */
const pathOf = (points: ReadonlyArray<Point>): string => {
  let [x, y] = [0, 0]
  const [first, ...others] = points.map((point) => {
    const [toX, toY] = [Math.round(point[0]), Math.round(point[1])]
    const step = `${toX - x} ${toY - y}`
    ;[x, y] = [toX, toY]
    return step
  })
  return `M${first}l${others.join(" ")}`
}

const inPercent = (share: number): string => `${Math.round(share * 10_000) / 100}%`

/** Moves labels apart that would overlap, as little as possible, keeping their order; shares of the height from above. */
export const spread = (wanted: ReadonlyArray<number>): ReadonlyArray<number> => {
  const order = wanted.map((_, index) => index).sort((a, b) => wanted[a]! - wanted[b]!)
  const placed = [...wanted]
  let least = labelRoom / 2
  for (const index of order) {
    placed[index] = Math.max(placed[index]!, least)
    least = placed[index]! + labelRoom
  }
  let most = 1 - labelRoom / 3
  for (const index of order.toReversed()) {
    placed[index] = Math.min(placed[index]!, most)
    most = placed[index]! - labelRoom
  }
  return placed
}

const shown = (name: string) => name.length > 17 ? `${name.slice(0, 16)}…` : name

const Plot = (
  {
    children,
    data,
    dots,
    formatTime,
    formatValue,
    incompleteFrom,
    labelledBy,
    labels,
    legend,
    marked = [],
    marks,
    times,
    y,
  }:
    & Common
    & {
      /** Whether a single time is drawn as dots, for lines that have no length. */
      readonly dots: boolean
      readonly y: (value: number) => number
      readonly marks: ReadonlyArray<number>
      readonly labels: ReadonlyArray<{ readonly series: number; readonly name: string; readonly at: number }>
      readonly legend: ReadonlyArray<ChartLine>
      /** The data for the script, as JSON. */
      readonly data: string | undefined
      readonly children: preact.ComponentChildren
    },
) => {
  const at = placeOf(times)
  const placed = spread(labels.map(({ at }) => at))
  const last = times.length - 1
  // As many dates as fit on the axis, including the first and the last.
  const dates = times.flatMap((_, index) => index === 0 || index === last ? [index] : [])
  for (const wanted of [1 / 3, 2 / 3]) {
    const nearest = times.reduce(
      (best, time, index) => Math.abs(at(time) - wanted) < Math.abs(at(times[best]!) - wanted) ? index : best,
      0,
    )
    if (dates.every((index) => Math.abs(at(times[index]!) - at(times[nearest]!)) > 0.24)) dates.push(nearest)
  }
  return (
    <>
      <div class="plot">
        <svg class="axis" height={height} aria-hidden="true">
          {marks.map((mark) => (
            <text x="100%" y={inPercent(y(mark))} dy="0.35em" text-anchor="end">{formatValue(mark)}</text>
          ))}
        </svg>
        <svg class="lines" height={height} role="img" aria-labelledby={labelledBy}>
          {incompleteFrom !== undefined && (
            <rect
              class="incomplete"
              x={inPercent(at(incompleteFrom))}
              y="0"
              width={inPercent(1 - at(incompleteFrom))}
              height="100%"
            />
          )}
          {marks.map((mark) => <line class="grid" x1="0" x2="100%" y1={inPercent(y(mark))} y2={inPercent(y(mark))} />)}
          {marked.filter(({ at }) => at <= times.at(-1)!).map(({ at: time, text }) => (
            <line class="mark" x1={inPercent(at(time))} x2={inPercent(at(time))} y1="0" y2="100%">
              <title>{text}</title>
            </line>
          ))}
          <svg x="0" y="0" width="100%" height="100%" viewBox={`0 0 ${size} ${size}`} preserveAspectRatio="none">
            {children}
          </svg>
          {dots && times.length <= 1 &&
            labels.map(({ at, series }) => <circle class={`dot s${series}`} cx="50%" cy={inPercent(at)} r="4" />)}
        </svg>
        <svg class="ends" height={height} aria-hidden="true">
          {labels.map(({ at, name, series }, index) => (
            <g class={`s${series}`}>
              <line class="leader" x1="0" x2="10" y1={inPercent(at)} y2={inPercent(placed[index]!)} />
              <text x="14" y={inPercent(placed[index]!)} dy="0.35em">{shown(name)}</text>
            </g>
          ))}
        </svg>
        <svg class="dates" height="22" aria-hidden="true">
          {dates.map((index) => (
            <text
              x={times.length > 1 ? inPercent(at(times[index]!)) : "50%"}
              y="15"
              text-anchor={times.length === 1 ? "middle" : index === 0 ? "start" : index === last ? "end" : "middle"}
            >
              {formatTime(times[index]!)}
            </text>
          ))}
        </svg>
      </div>
      {data !== undefined && <div hidden data-chart={data} />}
      <Legend names={legend.map(({ name, series }) => [series, name] as const)} />
    </>
  )
}

const placeOf = (times: ReadonlyArray<number>) => {
  const first = times[0]!
  const span = times.at(-1)! - first
  return (time: number) => span > 0 ? Math.min(1, Math.max(0, (time - first) / span)) : 0
}

/** Pieces of a line without its gaps. */
const pieces = <A,>(
  values: ReadonlyArray<A | null>,
): ReadonlyArray<ReadonlyArray<readonly [index: number, value: A]>> => {
  const all: Array<Array<readonly [number, A]>> = []
  let open: Array<readonly [number, A]> | undefined
  values.forEach((value, index) => {
    if (value === null) return void (open = undefined)
    if (open === undefined) all.push(open = [])
    open.push([index, value])
  })
  return all
}

/** Lines over time with their bands; the labels are at their ends. */
export const LineChart = ({ certain = false, format, lines, range, zero = false, ...common }: Common & {
  readonly lines: ReadonlyArray<ChartLine>
  /** Smallest range of the axis. */
  readonly range?: readonly [number, number]
  /** A line at 0, to be above or below. */
  readonly zero?: boolean
  /** Whether the values are counts, which do not change later as estimates do. */
  readonly certain?: boolean
}) => {
  const { times } = common
  // The first estimates are the least certain: they would press the rest flat.
  const settled = certain ? 0 : Math.floor(times.length / 5)
  const values = lines.flatMap(({ bands = [], values }) => [
    ...values.flatMap((value, i) => value === null || i < settled ? [] : [value]),
    ...bands.flatMap((band, i) => band === null || i < settled ? [] : band),
  ])
  const marks = ticks(Math.min(...values, ...(range ?? [])), Math.max(...values, ...(range ?? [])))
  const low = marks[0]!
  const high = marks.at(-1)!
  const y = (value: number) => {
    const inside = Math.min(high, Math.max(low, value))
    return high > low ? 0.03 + 0.94 * (1 - (inside - low) / (high - low)) : 0.5
  }
  const at = placeOf(times)
  const point = (index: number, value: number): Point => [at(times[index]!) * size, y(value) * size]
  const labels = lines.flatMap(({ name, series, values }) => {
    const last = values.findLast((value) => value !== null)
    return last === undefined || last === null ? [] : [{ series, name, at: y(last) }]
  })
  return (
    <Plot
      {...common}
      y={y}
      dots
      marks={marks}
      labels={labels}
      legend={lines}
      data={format === undefined ? undefined : chartData({ ...common, format, lines, range: [low, high] })}
    >
      {zero && <path class="zero" d={`M0 ${Math.round(y(0) * size)}H${size}`} />}
      {lines.map(({ bands = [], series }) =>
        pieces(bands).filter((piece) => piece.length > 1).map((piece) => (
          <path
            class={`band s${series}`}
            d={`${
              pathOf([
                ...piece.map(([i, [, high]]) => point(i, high)),
                ...piece.toReversed().map(([i, [low]]) => point(i, low)),
              ])
            }Z`}
          />
        ))
      )}
      {lines.map(({ series, values }) =>
        pieces(values).filter((piece) => piece.length > 1).map((piece) => (
          <path
            class={`line s${series}`}
            d={pathOf(piece.map(([i, value]) => point(i, value)))}
          />
        ))
      )}
    </Plot>
  )
}

/**
 * Shares of a whole over time, one on top of the other; the first is the lowest. With shares of a single time, the chart
 * is one stacked bar.
 */
export const ShareChart = ({ format, lines, ...common }: Omit<Common, "formatValue"> & {
  readonly lines: ReadonlyArray<ChartLine>
}) => {
  const { times } = common
  const at = placeOf(times)
  const kept = times.flatMap((_, i) => lines.some(({ values }) => values[i] !== null) ? [i] : [])
  const tops = lines.map(() => times.map(() => 0))
  for (const i of kept) {
    let sum = 0
    lines.forEach(({ values }, v) => tops[v]![i] = sum += values[i] ?? 0)
  }
  const floor = times.map(() => 0)
  const y = (share: number) => 1 - share
  const point = ([i, x]: readonly [number, number], heights: ReadonlyArray<number>): Point => [x, y(heights[i]!) * size]
  const [only] = kept
  // A bar over the whole width for shares of a single time.
  const edges: ReadonlyArray<readonly [index: number, x: number]> = kept.length === 1
    ? [[only!, 0], [only!, size]]
    : kept.map((i) => [i, at(times[i]!) * size])
  const last = kept.at(-1) ?? 0
  const labels = lines.flatMap(({ name, series, values }, v) => {
    const share = values[last] ?? 0
    return share < 0.005 ? [] : [{ series, name, at: y(tops[v]![last]! - share / 2) }]
  }).toReversed()
  return (
    <Plot
      {...common}
      dots={false}
      formatValue={(share) => percent(share)}
      y={(share) => 0.03 + 0.94 * y(share)}
      marks={[0, 0.25, 0.5, 0.75, 1]}
      labels={labels.map((label) => ({ ...label, at: 0.03 + 0.94 * label.at }))}
      legend={lines.toReversed()}
      data={format === undefined || kept.length < 2
        ? undefined
        : chartData({ ...common, format, lines, range: [0, 1], stacked: true })}
    >
      <svg
        x="0"
        y={size * 0.03}
        width={size}
        height={size * 0.94}
        viewBox={`0 0 ${size} ${size}`}
        preserveAspectRatio="none"
      >
        {kept.length > 0 && lines.map(({ series }, v) => (
          <path
            class={`area s${series}`}
            d={`${
              pathOf([
                ...edges.map((edge) => point(edge, tops[v]!)),
                ...edges.toReversed().map((edge) => point(edge, v === 0 ? floor : tops[v - 1]!)),
              ])
            }Z`}
          />
        ))}
        {kept.length > 0 && lines.map(({ series }, v) => (
          <path
            class={`line s${series}`}
            d={pathOf(edges.map((edge) => point(edge, tops[v]!)))}
          />
        ))}
      </svg>
    </Plot>
  )
}
