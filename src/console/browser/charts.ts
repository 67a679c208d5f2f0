// Draws charts over time so that they can be read with pointer and keyboard, and enlarged. Without this script the pictures
// and tables of the page remain.
import uPlot from "uplot"
import { type ChartData, readChart } from "../charts/ChartData.ts"
import { all, need } from "./dom.ts"
import { locale, t } from "./language.ts"

const height = 240

/** The colours that the page has for a line now. They depend on the theme. */
const paletteOf = (figure: HTMLElement, series: number) => {
  const probe = document.createElement("span")
  probe.className = `s${series}`
  probe.hidden = true
  figure.append(probe)
  const resolve = (name: string) => {
    probe.style.color = `var(${name})`
    return getComputedStyle(probe).color
  }
  const found = {
    line: resolve("--series"),
    text: resolve("--muted"),
    grid: resolve("--line"),
    raised: resolve("--raised"),
    dash: getComputedStyle(probe).getPropertyValue("--dash").trim().split(/\s+/).map(Number),
  }
  probe.remove()
  return found
}

const clear = (color: string, alpha: number) =>
  color.replace(/^rgb\((.*)\)$/, (_, parts: string) => `rgba(${parts}, ${alpha})`)

const numbers = new Map<number, Intl.NumberFormat>()
const formatOf = ({ decimals, unit }: ChartData["format"]) => (value: number | null | undefined): string => {
  if (value === null || value === undefined) return t`no data`
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
  const known = numbers.get(decimals) ?? new Intl.NumberFormat(locale, digits)
  numbers.set(decimals, known)
  const text = known.format(unit === "percent" ? 100 * value : value).replace("-", "−")
  return unit === "percent" ? `${text}\u00a0%` : text
}

type ChartLine = ChartData["lines"][number]

/** Columns of numbers for the library, and the bands between stacked lines. */
const columnsOf = ({ lines, stacked, times }: ChartData) => {
  const columns: [xs: Array<number>, ...ys: Array<Array<number | null>>] = [[...times]]
  const drawn: Array<{ readonly line: ChartLine; readonly at: number }> = []
  if (stacked) {
    const sums = times.map(() => 0)
    for (const line of lines) {
      line.values.forEach((value, i) => sums[i] = sums[i]! + (value ?? 0))
      drawn.push({ line, at: columns.length })
      columns.push(line.values.map((value, i) => value === null ? null : sums[i]!))
    }
    return { columns, drawn }
  }
  for (const line of lines) {
    drawn.push({ line, at: columns.length })
    columns.push([...line.values])
    if (line.low !== undefined && line.high !== undefined) columns.push([...line.high], [...line.low])
  }
  return { columns, drawn }
}

const optionsOf = (
  figure: HTMLElement,
  data: ChartData,
  width: number,
  drawn: ReturnType<typeof columnsOf>["drawn"],
  say: (index: number | null | undefined) => void,
): uPlot.Options => {
  const palettes = data.lines.map(({ series }) => paletteOf(figure, series))
  const plain = paletteOf(figure, 0)
  const format = formatOf(data.format)
  const axis = {
    stroke: plain.text,
    grid: { stroke: plain.grid, width: 1 },
    ticks: { show: false },
    font: "12px system-ui",
  }
  const series: Array<uPlot.Series> = [{}]
  const bands: Array<uPlot.Band> = []
  drawn.forEach(({ at, line }, i) => {
    const { dash, line: stroke } = palettes[i]!
    series.push({
      stroke,
      width: 2.2,
      ...(dash.length > 1 ? { dash } : {}),
      points: { show: data.times.length === 1 },
      spanGaps: false,
      ...(data.stacked && i === 0 ? { fill: clear(stroke, 0.32) } : {}),
    })
    if (data.stacked) {
      if (i > 0) bands.push({ series: [at, drawn[i - 1]!.at], fill: clear(stroke, 0.32) })
    } else if (line.low !== undefined) {
      const edge = { stroke: "transparent", width: 0, points: { show: false } }
      series.push(edge, edge)
      bands.push({ series: [at + 1, at + 2], fill: clear(stroke, 0.13) })
    }
  })
  const [low, high] = data.range
  return {
    width,
    height,
    series,
    bands,
    legend: { show: false },
    cursor: { points: { size: 8 }, y: false },
    scales: { x: { time: false }, y: { range: [low, high === low ? low + 1 : high] } },
    axes: [
      {
        ...axis,
        space: 90,
        size: 30,
        splits: (u) => {
          const [from, to] = [u.scales["x"]?.min ?? data.times[0]!, u.scales["x"]?.max ?? data.times.at(-1)!]
          // Earlier periods may be longer, so labels keep a distance in pixels and not in periods.
          const apart = 110 * (to - from) / u.width
          let last = -Infinity
          return data.times.filter((time) => {
            if (time < from || time > to || time - last < apart) return false
            last = time
            return true
          })
        },
        values: (_, splits) => splits.map((time) => data.labels[data.times.indexOf(time)] ?? ""),
      },
      { ...axis, size: 62, values: (_, splits) => splits.map(format) },
    ],
    hooks: {
      // Outcomes of the shaded part are still coming in.
      drawClear: [(u) => {
        if (data.incompleteFrom === null) return
        const { height, left, top, width } = u.bbox
        const from = Math.min(left + width, Math.max(left, u.valToPos(data.incompleteFrom, "x", true)))
        u.ctx.save()
        u.ctx.fillStyle = plain.raised
        u.ctx.fillRect(from, top, left + width - from, height)
        u.ctx.restore()
      }],
      draw: [(u) => {
        const { height, left, top, width } = u.bbox
        u.ctx.save()
        u.ctx.strokeStyle = plain.text
        u.ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio])
        for (const { time } of data.marks ?? []) {
          const x = Math.round(u.valToPos(time, "x", true))
          if (x < left || x > left + width) continue
          u.ctx.beginPath()
          u.ctx.moveTo(x, top)
          u.ctx.lineTo(x, top + height)
          u.ctx.stroke()
        }
        u.ctx.restore()
      }],
      setCursor: [(u) => say(u.cursor.idx)],
    },
  }
}

/** Writes the values at one time below the chart. */
const readout = (element: HTMLElement, data: ChartData) => {
  const format = formatOf(data.format)
  return (index: number | null | undefined) => {
    if (index === null || index === undefined) return
    const time = document.createElement("b")
    time.textContent = data.labels[index] ?? ""
    const parts = data.lines.map(({ high, low, name, series, values }) => {
      const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg")
      swatch.setAttribute("class", `swatch s${series}`)
      swatch.setAttribute("width", "26")
      swatch.setAttribute("height", "12")
      swatch.setAttribute("aria-hidden", "true")
      const piece = document.createElementNS("http://www.w3.org/2000/svg", "line")
      for (const [name, at] of [["x1", "1"], ["x2", "25"], ["y1", "6"], ["y2", "6"]] as const) {
        piece.setAttribute(name, at)
      }
      piece.setAttribute("class", "line")
      swatch.append(piece)
      const part = document.createElement("span")
      const who = document.createElement("bdi")
      who.textContent = name
      const value = values[index]
      const range = value === null || low?.[index] == null
        ? ""
        : ` ${t`(${format(low[index])} to ${format(high?.[index])})`}`
      part.append(swatch, " ", who, ` ${format(value)}${range}`)
      return part
    })
    const [from, to] = [data.times[index - 1] ?? -Infinity, data.times[index]!]
    const changes = (data.marks ?? []).filter(({ time }) => time > from && time <= to).map(({ text }) => {
      const change = document.createElement("span")
      change.className = "change"
      change.textContent = text
      return change
    })
    element.replaceChildren(time, ...parts, ...changes)
  }
}

const draw = (figure: HTMLElement) => {
  const source = () => figure.querySelector<HTMLElement>("[data-chart]")?.dataset["chart"]
  const shown = document.createElement("div")
  shown.className = "interactive"
  shown.tabIndex = 0
  shown.setAttribute("role", "group")
  const title = figure.querySelector("h2")?.textContent ?? ""
  shown.setAttribute("aria-label", t`${title}: chart. Left and right arrow keys read the values`)
  const values = document.createElement("p")
  values.className = "chart-values small"
  values.setAttribute("aria-live", "polite")
  need(figure, "[data-live]").after(shown, values)
  figure.classList.add("drawn")
  let text: string | undefined
  let drawing: { readonly plot: uPlot; readonly times: ReadonlyArray<number> } | undefined
  const render = () => {
    text = source()
    if (text === undefined) return
    const data = readChart(JSON.parse(text))
    const last = data.times.length - 1
    const index = drawing?.plot.cursor.idx
    drawing?.plot.destroy()
    const { columns, drawn } = columnsOf(data)
    const say = readout(values, data)
    const plot = new uPlot(optionsOf(figure, data, shown.clientWidth, drawn, say), columns, shown)
    drawing = { plot, times: data.times }
    say(Math.min(index ?? last, last))
  }
  render()
  shown.addEventListener("keydown", (event) => {
    if (drawing === undefined) return
    const { plot, times } = drawing
    const last = times.length - 1
    const now = plot.cursor.idx ?? last
    const moves: Readonly<Record<string, number>> = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last }
    const to = moves[event.key]
    if (to === undefined) return
    event.preventDefault()
    plot.setCursor({ left: plot.valToPos(times[Math.min(last, Math.max(0, to))]!, "x"), top: 0 })
  })
  new ResizeObserver(() => {
    const plot = drawing?.plot
    if (plot === undefined) return
    if (plot.width !== shown.clientWidth && shown.clientWidth > 0) plot.setSize({ width: shown.clientWidth, height })
  }).observe(shown)
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render)
  document.addEventListener("renewed", () => {
    if (source() !== text) render()
  })
}

for (const figure of all(document, "figure:has([data-chart])")) draw(figure)
