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

/** Everything that the script draws. */
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

type Values = ReadonlyArray<number | null>

/** Number of units in 1. A unit is a tenth of the last decimal that the script shows. */
const perUnit = ({ decimals, unit }: ChartFormat): number => 10 ** (decimals + (unit === "percent" ? 3 : 1))

/** Writes each number as its distance from the number before it, in whole units. Distances are short and often equal. */
const toSteps = (values: Values, scale: number): Values => {
  let last = 0
  return values.map((value) => {
    if (value === null) return null
    const step = Math.round(value * scale) - last
    last += step
    return step
  })
}

const fromSteps = (steps: Values, scale: number): Values => {
  let last = 0
  return steps.map((step) => step === null ? null : (last += step) / scale)
}

/** The data of a chart as JSON, with steps in place of times and values. `readChart` reads its value. */
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
}): string => {
  const scale = perUnit(format)
  return JSON.stringify(
    {
      times: toSteps(times, 1 / 1000),
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
        values: toSteps(values, scale),
        ...(bands === undefined ? {} : {
          low: toSteps(bands.map((band) => band?.[0] ?? null), scale),
          high: toSteps(bands.map((band) => band?.[1] ?? null), scale),
        }),
      })),
    },
  )
}

/** Reads the value of the JSON of `chartData`. Values are exact to one decimal more than `format` shows. */
export const readChart = (data: ChartData): ChartData => {
  const scale = perUnit(data.format)
  return {
    ...data,
    times: fromSteps(data.times, 1) as ReadonlyArray<number>,
    lines: data.lines.map(({ high, low, values, ...line }) => ({
      ...line,
      values: fromSteps(values, scale),
      ...(low === undefined || high === undefined ? {} : {
        low: fromSteps(low, scale),
        high: fromSteps(high, scale),
      }),
    })),
  }
}
