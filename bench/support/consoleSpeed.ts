import { launch } from "../../test/support/browser.ts"
import { loopMicrosOf, type ServerProcess } from "./Bench.ts"

// Measures the response time of console pages, and the time until a browser shows them.

/** A page with its name, and its path in request `n`. */
export interface Visited {
  readonly name: string
  readonly path: (n: number) => string
}

/** Measurements of a page with one request at a time. Times are in milliseconds. */
export interface Served {
  readonly name: string
  /** Time of the first request, without caches. The other figures exclude it. */
  readonly first: number
  readonly p50: number
  readonly p99: number
  /**
   * Processor time of the server's main thread for the page. At worst, the server answers no other request for this
   * time.
   */
  readonly loopP50: number
  readonly loopMax: number
  /** Size of the largest response, without the content of its frames. */
  readonly bytes: number
  readonly wrong: ReadonlyArray<string>
}

const quantile = (values: ReadonlyArray<number>, q: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? NaN
}

/** Requests pages in rotation, so that a temporary slowdown of the machine affects all pages. */
export const measurePages = async (
  { pid, url }: Pick<ServerProcess, "pid" | "url">,
  cookie: string,
  pages: ReadonlyArray<Visited>,
  requests: number,
): Promise<ReadonlyArray<Served>> => {
  const measured = pages.map(({ name, path }) => ({
    name,
    path,
    times: [] as Array<number>,
    loop: [] as Array<number>,
    bytes: 0,
    wrong: new Set<string>(),
  }))
  for (let n = 0; n <= requests; n++) {
    for (const page of measured) {
      const path = page.path(n)
      const used = loopMicrosOf(pid)
      const begin = performance.now()
      const answer = await fetch(`${url}${path}`, { headers: { cookie }, redirect: "manual" })
      const body = await answer.arrayBuffer()
      page.times.push(performance.now() - begin)
      page.loop.push((loopMicrosOf(pid) - used) / 1000)
      page.bytes = Math.max(page.bytes, body.byteLength)
      if (answer.status !== 200) page.wrong.add(`${path}: ${answer.status}`)
    }
  }
  return measured.map(({ bytes, loop: [, ...loop], name, times: [first, ...times], wrong }) => ({
    name,
    first: first!,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    loopP50: quantile(loop, 0.5),
    loopMax: Math.max(...loop),
    bytes,
    wrong: [...wrong],
  }))
}

/** Time until a browser shows content of a page. Unit: milliseconds. */
export interface Painted {
  readonly name: string
  readonly median: number
  readonly max: number
}

/** Opens pages in Chromium with a cached stylesheet, each in a new tab. */
export const measurePaint = async (
  url: string,
  cookie: string,
  pages: ReadonlyArray<Visited>,
  times: number,
): Promise<ReadonlyArray<Painted>> => {
  const browser = await launch()
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 } })
    const [name, value] = cookie.split("=") as [string, string]
    await context.addCookies([{ name, value, url }])
    const painted: Array<Painted> = []
    for (const { name, path } of pages) {
      const found: Array<number> = []
      for (let n = 0; n < times; n++) {
        const page = await context.newPage()
        await page.goto(`${url}${path(n)}`, { waitUntil: "load" })
        found.push(
          await page.evaluate(() =>
            new Promise<number>((resolve) =>
              new PerformanceObserver((list) => {
                const [entry] = list.getEntriesByName("first-contentful-paint")
                if (entry !== undefined) resolve(entry.startTime)
              }).observe({ type: "paint", buffered: true })
            )
          ),
        )
        await page.close()
      }
      painted.push({ name, median: quantile(found, 0.5), max: Math.max(...found) })
    }
    return painted
  } finally {
    await browser.close()
  }
}
