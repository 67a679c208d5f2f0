import { Clock, Context, Effect, Layer } from "effect"
import { Settings } from "../settings/Settings.ts"
import { jsonOf } from "./LogLine.ts"

/** An answered request. */
export interface Access {
  readonly method: string
  /** Path of the route as it was declared, never the requested path. Undefined: no route. */
  readonly route: string | undefined
  readonly status: number
  /** Time from the headers of the request to its response. Unit: milliseconds. */
  readonly millis: number
  readonly org: string | undefined
  readonly requestId: string
}

/** Logs an answered request. Default: undefined, so that requests are not logged. */
export const AccessLog = Context.Reference<((access: Access) => void) | undefined>("parlance/telemetry/AccessLog", {
  defaultValue: () => undefined,
})

/** Form of a slug. A path may contain any other text in its place, such as an e-mail address. */
const slug = /^[a-z0-9][a-z0-9_-]{0,62}$/

const annotationsOf = ({ method, millis, org, requestId, route, status }: Access) => ({
  method,
  route: route ?? null,
  status,
  duration_ms: Math.max(0, Math.round(millis)),
  org: org !== undefined && slug.test(org) ? org : null,
  requestId,
})

/** Returns the line of an answered request: JSON, or words for people at a terminal. */
export const lineOf = (access: Access, date: Date, isTerminal: boolean): string => {
  const annotations = annotationsOf(access)
  if (!isTerminal) return jsonOf({ date, level: "Info", message: "Request", annotations, cause: "" })
  const { duration_ms, method, org, requestId, route, status } = annotations
  return `${method} ${route ?? "-"} ${status} ${duration_ms} ms ${org ?? "-"} ${requestId}`
}

/** Interval of writing lines in groups, because each write is a system call, and maximum size of a group. */
const writeEvery = "100 millis"
const mostLines = 500

/** Writes lines in groups with `write`. The last group is written when the scope closes. */
export const make = Effect.fnUntraced(function* (write: (lines: string) => void, isTerminal: boolean) {
  const clock = yield* Clock.Clock
  let lines: Array<string> = []
  const flush = () => {
    if (lines.length === 0) return
    const written = lines
    lines = []
    write(written.join("\n"))
  }
  yield* Effect.addFinalizer(() => Effect.sync(flush))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(writeEvery), Effect.sync(flush))))
  return (access: Access): void => {
    lines.push(lineOf(access, new Date(clock.currentTimeMillisUnsafe()), isTerminal))
    if (lines.length >= mostLines) flush()
  }
})

/** Logs answered requests to standard output if `ACCESS_LOG` is on. */
export const layer = Layer.unwrap(Effect.map(
  Settings,
  ({ isAccessLogged }) =>
    isAccessLogged
      ? Layer.effect(AccessLog, make((lines) => console.log(lines), process.stdout.isTTY === true))
      : Layer.empty,
))
