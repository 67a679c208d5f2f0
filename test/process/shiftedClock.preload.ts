// Loaded before the service: its wall clock is CLOCK_SHIFT_MILLIS off, in the process as a whole. Monotonic clocks
// are unchanged.
import process from "node:process"

const shift = Number(process.env.CLOCK_SHIFT_MILLIS)
const RealDate = Date
const now = () => RealDate.now() + shift

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => name === "now" ? now : Reflect.get(target, name, receiver),
})
Object.defineProperty(performance, "timeOrigin", { value: performance.timeOrigin + shift })
