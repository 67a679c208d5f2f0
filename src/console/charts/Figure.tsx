import type { ComponentChildren } from "preact"
import { t } from "../../languages/Language.ts"
import { Table } from "../components/Table.tsx"

// Why charts are drawn here, and not by a library: ECharts 6.1 renders on the server, but a line chart of three variants
// with bands over 96 points is 26.6 kB of SVG with 18 style attributes and a style element, which the content security
// policy of the console blocks; its size in pixels and its colours are fixed, so that phone and desktop, light and dark
// would need four of them. The same chart drawn here is 5 to 9 kB, fits any width without scaling its text, and takes its
// colours from the variables of the page, so that it follows the theme. With scripts, uPlot (51 kB) draws charts over
// time again from their data, so that values can be read and a time range enlarged; see browser/charts.ts.
//
// How: a picture has no viewBox. Text and marks are placed in percent of its width; only the lines are in a nested,
// stretched one, with strokes that keep their width.

/** A picture with its caption and, for people who want numbers or cannot see the picture, its table. Parts with `data-live` are renewed. */
export const Figure = ({ caption, children, headings, id, lead, rows, title, wide = false }: {
  readonly id: string
  readonly title: string
  /** One sentence that describes the chart; also its text alternative. */
  readonly caption: ComponentChildren
  readonly lead?: ComponentChildren
  readonly headings: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<ComponentChildren>>
  readonly children: ComponentChildren
  /** Over the whole width, where others share it. */
  readonly wide?: boolean
}) => (
  <figure class={wide ? "card chart wide" : "card chart"} id={id} aria-labelledby={`${id}-title`}>
    <h2 id={`${id}-title`}>{title}</h2>
    <div class="stack" data-live={`${id}-picture`}>
      <figcaption>{caption}</figcaption>
      {lead}
      {children}
    </div>
    <details>
      <summary>
        {t`Table ${<span class="visually-hidden">{t`of ${title}`}</span>}`}
      </summary>
      <div data-live={`${id}-table`}>
        <Table caption={title} headings={headings} rows={rows} />
      </div>
    </details>
  </figure>
)

/** The legend, in the order of the lines. Shown if the chart is too narrow for labels at the lines. */
export const Legend = ({ names }: { readonly names: ReadonlyArray<readonly [series: number, name: string]> }) => (
  <ul class="legend" aria-hidden="true">
    {names.map(([series, name]) => (
      <li>
        <Swatch series={series} />
        {name}
      </li>
    ))}
  </ul>
)

/** A piece of a line as the chart draws it. */
export const Swatch = ({ series }: { readonly series: number }) => (
  <svg class={`swatch s${series}`} width="26" height="12" aria-hidden="true">
    <line x1="1" y1="6" x2="25" y2="6" class="line" />
  </svg>
)
