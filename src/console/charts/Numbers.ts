// Numbers as people read them.

/** A count with thin groups: `12 345`. */
export const count = (value: number): string => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f")

/** A share in percent: `83 %`, `4.2 %`, `0.35 %`; what is not quite nothing or all is `< 0.01 %` or `> 99 %`. */
export const percent = (share: number): string => {
  const value = share * 100
  if (value > 99 && value < 100) return "> 99\u00a0%"
  if (value > 0 && value < 0.01) return "< 0.01\u00a0%"
  if (Math.abs(value) >= 10 || value === 0) return `${Math.round(value)}\u00a0%`
  return `${value.toFixed(Math.abs(value) >= 1 ? 1 : 2)}\u00a0%`
}

/** Formats a number with its sign. */
export const signedPercent = (share: number): string => share < 0 ? `−${percent(-share)}` : `+${percent(share)}`

/** A count with its sign. */
export const signedCount = (value: number): string => value < -0.5 ? `−${count(-value)}` : `+${count(Math.abs(value))}`

/** Shows rates of the size of `largest` with three digits: in percent, or as they are where the worth of a mix is meant. */
export const rateFormat = (inPercent: boolean, largest: number): (rate: number) => string => {
  const scale = inPercent ? 100 : 1
  const magnitude = Math.floor(Math.log10(Math.max(Math.abs(largest) * scale, 1e-6)))
  const decimals = Math.min(6, Math.max(0, 2 - magnitude))
  return (rate) => `${(rate * scale).toFixed(decimals)}${inPercent ? "\u00a0%" : ""}`
}

/** Round numbers that cover [low, high], about `wanted` of them. */
export const ticks = (low: number, high: number, wanted = 4): ReadonlyArray<number> => {
  const span = high - low
  if (!(span > 0)) return [low]
  const rough = span / wanted
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999)!
  const first = Math.floor(low / step + 1e-9)
  const last = Math.ceil(high / step - 1e-9)
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)))
}
