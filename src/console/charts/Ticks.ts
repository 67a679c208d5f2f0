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
