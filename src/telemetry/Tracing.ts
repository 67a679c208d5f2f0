import { Cause, Clock, Context, Effect, Exit, type Fiber, Option, Tracer } from "effect"
import { Headers, HttpTraceContext } from "effect/http"

// A trace starts with a request and includes its consequences: see docs/decisions/0017. Background work starts no
// trace, so it costs and exports nothing.

/**
 * Share of requests that are traced unless their caller decides, 0 to 1. Default: undefined, so that nothing is traced.
 */
export const TraceShare = Context.Reference<number | undefined>("parlance/telemetry/TraceShare", {
  defaultValue: () => undefined,
})

/** Returns the kind of a failure without its message, because messages quote values. */
const kindOf = (cause: Cause.Cause<unknown>): Error => {
  const error: unknown = Cause.squash(cause)
  const named = error !== null && typeof error === "object" ? error as { _tag?: unknown; name?: unknown } : {}
  const kind = new Error("")
  kind.name = typeof named._tag === "string" ? named._tag : typeof named.name === "string" ? named.name : "Error"
  kind.stack = ""
  return kind
}

const withoutWords = (exit: Exit.Exit<unknown, unknown>): Exit.Exit<unknown, unknown> =>
  Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? exit : Exit.fail(kindOf(exit.cause))

/**
 * Sends a span to `tracer` only if its trace was started explicitly (`root: true`) or elsewhere, and without error
 * messages. Other spans are discarded.
 */
export const onlyBegun = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      const isBegun = options.root || (Option.isSome(options.parent) && options.parent.value.sampled)
      if (!isBegun || !options.sampled) return new Tracer.NativeSpan({ ...options, sampled: false })
      const span = tracer.span(options)
      const end = span.end.bind(span)
      return Object.assign(span, {
        end: (time: bigint, exit: Exit.Exit<unknown, unknown>) => end(time, withoutWords(exit)),
      })
    },
  })

/** Returns the present span of a fiber if it is part of a trace that is sent. */
export const currentSpan = (fiber: Fiber.Fiber<unknown, unknown>): Tracer.AnySpan | undefined =>
  fiber.cache.tracer !== undefined && fiber.cache.span?.sampled === true ? fiber.cache.span : undefined

/** Returns the present span, for code outside of a fiber. */
export const current: Effect.Effect<Tracer.AnySpan | undefined> = Effect.withFiberSucceed(currentSpan)

/** Records `effect` as a span if there is a trace. Otherwise costs almost nothing. */
export const step =
  (name: string, attributes: Readonly<Record<string, unknown>> = {}) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) =>
      currentSpan(fiber) === undefined
        ? effect
        : Effect.withSpan(effect, name, { attributes, captureStackTrace: false }) as Effect.Effect<A, E, R>
    )

/** Records `effect` as part of the trace of `parent`, even if the fiber has its own trace. */
export const stepOf =
  (parent: Tracer.AnySpan | undefined, name: string, options: Omit<Tracer.SpanOptions, "parent"> = {}) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    parent === undefined
      ? effect
      : Effect.withSpan(effect, name, { ...options, parent, captureStackTrace: false }) as Effect.Effect<A, E, R>

/** Maximum number of links of one span, the default limit of collectors. */
const mostLinks = 128

/** Returns the links from work done for several traces to the traces it is not part of. */
export const linksTo = (spans: ReadonlyArray<Tracer.AnySpan>): ReadonlyArray<Tracer.SpanLink> =>
  spans.slice(0, mostLinks).map((span) => ({ span, attributes: {} }))

/**
 * Adds work since `startTime` (Unix, in nanoseconds) to the traces of `causes`, for work that learns only at its end
 * for whom it was done. Inside a trace, links the present span to the other traces. Otherwise adds a span to the first
 * trace, with links to the other ones. Returns the span, or undefined without a trace.
 */
export const stepSince = (
  name: string,
  startTime: bigint,
  causes: ReadonlyArray<Tracer.AnySpan>,
): Effect.Effect<Tracer.AnySpan | undefined> =>
  Effect.withFiberSucceed((fiber): Tracer.AnySpan | undefined => {
    const present = currentSpan(fiber)
    if (present?._tag === "Span") {
      present.addLinks(linksTo(causes.filter(({ traceId }) => traceId !== present.traceId)))
      return present
    }
    const [parent, ...others] = causes
    if (present !== undefined || parent === undefined || fiber.cache.tracer === undefined) {
      return present
    }
    const span = fiber.cache.tracer.span({
      name,
      parent: Option.some(parent),
      annotations: Context.empty(),
      links: [...linksTo(others)],
      startTime,
      kind: "consumer",
      root: false,
      sampled: true,
    })
    span.end(fiber.getRef(Clock.Clock).currentTimeNanosUnsafe(), Exit.void)
    return span
  })

/**
 * Returns the `traceparent` to store with rows, so that later work on them joins this trace. Undefined outside of a
 * trace.
 */
export const carried: Effect.Effect<string | undefined> = Effect.withFiber((fiber) => {
  const span = currentSpan(fiber)
  return Effect.succeed(span === undefined ? undefined : `00-${span.traceId.padStart(32, "0")}-${span.spanId}-01`)
})

/** Returns the span of a `traceparent`. Undefined for an invalid value. */
export const spanNamed = (traceparent: string | null | undefined): Tracer.ExternalSpan | undefined =>
  traceparent === null || traceparent === undefined
    ? undefined
    : Option.getOrUndefined(HttpTraceContext.w3c(Headers.fromInput({ traceparent })))

/** Returns the span of the `traceparent` header. */
export const spanOf = (headers: Readonly<Record<string, string>>): Tracer.ExternalSpan | undefined =>
  spanNamed(headers["traceparent"])

/** Whether a request is traced. Its `traceparent` decides. Without one, `share` of all requests are traced. */
export const isTraced = (
  headers: Readonly<Record<string, string | undefined>>,
  share: number,
  random: { readonly nextDoubleUnsafe: () => number },
): boolean => {
  const given = spanNamed(headers["traceparent"])
  return given === undefined ? random.nextDoubleUnsafe() < share : given.sampled
}
