// The data of a chart as the script in a browser reads them.

/** How a chart writes its values: shares as percent, or numbers, with so many decimals. */
export interface ChartFormat {
  readonly unit: "percent" | "number"
  readonly decimals: number
}

interface Line {
  readonly series: number
  readonly name: string
  readonly values: ReadonlyArray<number | null>
  readonly bands?: ReadonlyArray<readonly [low: number, high: number] | null>
}

/** Everything that the script draws. Numbers have four significant digits. */
export interface ChartData {
  /** Seconds, ascending. */
  readonly times: ReadonlyArray<number>
  /** Text of each time. */
  readonly labels: ReadonlyArray<string>
  readonly format: ChartFormat
  /** Ends of the axis of values. */
  readonly range: readonly [number, number]
  /** The second from which outcomes are incomplete. Null if all are complete. */
  readonly incompleteFrom: number | null
  /** Values are shares that are drawn one on top of the other. */
  readonly stacked: boolean
  /** Changes with their second, ascending. Absent without changes. */
  readonly marks?: ReadonlyArray<{ readonly time: number; readonly text: string }>
  readonly lines: ReadonlyArray<{
    readonly series: number
    readonly name: string
    readonly values: ReadonlyArray<number | null>
    readonly low?: ReadonlyArray<number | null>
    readonly high?: ReadonlyArray<number | null>
  }>
}

const short = (value: number | null): number | null => value === null ? null : Number(value.toPrecision(4))

/** The data of a chart as JSON. */
export const chartData = ({ format, formatTime, incompleteFrom, lines, marked = [], range, stacked = false, times }: {
  readonly times: ReadonlyArray<number>
  readonly formatTime: (time: number) => string
  readonly format: ChartFormat
  readonly range: readonly [number, number]
  /** Unix milliseconds. */
  readonly incompleteFrom?: number | undefined
  readonly stacked?: boolean
  readonly lines: ReadonlyArray<Line>
  /** Changes with their time (Unix milliseconds). */
  readonly marked?: ReadonlyArray<{ readonly at: number; readonly text: string }> | undefined
}): string =>
  JSON.stringify(
    {
      times: times.map((time) => Math.round(time / 1000)),
      labels: times.map(formatTime),
      format,
      range,
      incompleteFrom: incompleteFrom === undefined ? null : Math.round(incompleteFrom / 1000),
      stacked,
      ...(marked.length === 0 ? {} : {
        marks: marked.map(({ at, text }) => ({ time: Math.round(at / 1000), text })),
      }),
      lines: lines.map(({ bands, name, series, values }) => ({
        series,
        name,
        values: values.map(short),
        ...(bands === undefined ? {} : {
          low: bands.map((band) => short(band?.[0] ?? null)),
          high: bands.map((band) => short(band?.[1] ?? null)),
        }),
      })),
    } satisfies ChartData,
  )
