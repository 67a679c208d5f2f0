// Loaded before the service: its wall clock is CLOCK_SHIFT_MILLIS off and runs CLOCK_SPEED times as fast from then on,
// in the process as a whole. Monotonic clocks and timers are unchanged.
import process from "node:process"

const shift = Number(process.env.CLOCK_SHIFT_MILLIS ?? 0)
const speed = Number(process.env.CLOCK_SPEED ?? 1)
const RealDate = Date
const loaded = RealDate.now()
const now = () => Math.floor(loaded + shift + (RealDate.now() - loaded) * speed)

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => name === "now" ? now : Reflect.get(target, name, receiver),
})
Object.defineProperty(performance, "timeOrigin", { value: performance.timeOrigin + shift })
