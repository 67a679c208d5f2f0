import { JsonPointer, Result, Schema, SchemaIssue } from "effect"
import type { Fault } from "../../domain/Errors.ts"
import { EventName } from "../../domain/EventKinds.ts"
import { plainMessage } from "../../domain/FaultMessages.ts"
import { hasMoreValuesThan } from "../../domain/Faults.ts"
import { operators, parsePath } from "./MappingPath.ts"

/** Headers that carry credentials: an event would keep them. */
const secret: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization", "x-api-key"])

const Name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))

const Path = Schema.String.check(
  Schema.isMaxLength(500),
  Schema.makeFilter(
    (text: string) => {
      const path = parsePath(text)
      return "fault" in path ? path.fault : undefined
    },
    undefined,
    true,
  ),
)

/** A path below the place where it is used: `$body` means nothing there. */
const InnerPath = Path.check(
  Schema.makeFilter((text: string) => text.startsWith("$body") ? "must begin with $ here" : undefined),
)

/**
 * Where a value may stand: exactly one of a `path`, a `header` (by any case) and a `literal`. With `json`, what is found is
 * the text of JSON (or already parsed), and the value stands at that path inside it; with `query`, it is a URL, and the value
 * is that parameter of its query, percent-decoded once. With both, the URL stands inside the JSON.
 */
export const Candidate = Schema.Struct({
  path: Schema.optionalKey(Path),
  header: Schema.optionalKey(
    Name.check(
      Schema.makeFilter((name: string) =>
        !/^[!#$%&'*+.^_`|~\w-]+$/.test(name)
          ? "must be the name of a header"
          : secret.has(name.toLowerCase())
          ? "must not be a header that carries credentials"
          : undefined
      ),
    ),
  ),
  literal: Schema.optionalKey(Name),
  json: Schema.optionalKey(InnerPath),
  query: Schema.optionalKey(Name),
}).check(Schema.makeFilter((candidate) => {
  const { header, json, literal, path, query } = candidate
  const given = [path, header, literal].filter((value) => value !== undefined).length
  if (given !== 1) return "must have exactly one of path, header and literal"
  return literal !== undefined && (json !== undefined || query !== undefined)
    ? "must not look into a literal: leave out json and query"
    : undefined
}))
export type Candidate = typeof Candidate.Type

const Candidates = Schema.Array(Schema.Union([Path, Candidate])).check(Schema.isMinLength(1), Schema.isMaxLength(16))

const fieldMembers = {
  /** The first one that has a value that can be read decides. */
  from: Candidates,
  /** Whether an item without a value is skipped. False by default. */
  required: Schema.optionalKey(Schema.Boolean),
}

/** One value of an event: a path, or alternates in their order. */
const Field = Schema.Union([Path, Schema.Struct(fieldMembers)])
export type Field = typeof Field.Type

/**
 * Unit of a numeric time. `auto` detects seconds, milliseconds and microseconds by magnitude, and also reads ISO 8601.
 */
export const TimeUnit = Schema.Literals(["auto", "seconds", "milliseconds", "microseconds", "iso"])
export type TimeUnit = typeof TimeUnit.Type

const TimeField = Schema.Union([
  Path,
  Schema.Struct({ ...fieldMembers, unit: Schema.optionalKey(TimeUnit) }),
])

const MachineField = Schema.Union([
  Path,
  Schema.Struct({
    from: Candidates,
    /** Values that mark an event as automated, ignoring case. By default, truth values: `true`, `yes`, `1`. */
    equals: Schema.optionalKey(Schema.Array(Name).check(Schema.isMinLength(1), Schema.isMaxLength(50))),
  }),
])

const Meaning = Schema.Literals([...EventName.literals, "subscribe", "ignore"])

const EventField = Schema.Union([
  Path,
  Schema.Struct({
    from: Candidates,
    /**
     * Events by the source's event names, ignoring case; `subscribe` for opting in again, `ignore` for names without effect.
     */
    table: Schema.optionalKey(
      Schema.Record(Name, Meaning).check(
        Schema.isMaxProperties(500),
        Schema.makeFilter((table: { readonly [name: string]: string }) => {
          const seen = new Set<string>()
          return Object.keys(table).flatMap((name) => {
            const folded = name.trim().toLowerCase()
            if (!seen.has(folded)) {
              seen.add(folded)
              return []
            }
            return [{ path: [name], issue: "differs from another name by case or spaces only" }]
          })
        }),
      ),
    ),
    /**
     * Event for names missing from the table: one event for all, `ignore`, or `known` (the default) for the names of
     * the default shape.
     */
    default: Schema.optionalKey(Schema.Literals([...Meaning.literals, "known"])),
  }),
])

/**
 * Texts are compared exactly; numbers and booleans as their JSON text. An absent value meets only the negative
 * conditions.
 */
export const MappingCondition = Schema.Struct({
  from: Schema.Union([Path, Candidates]),
  op: Schema.Literals(operators),
  values: Schema.optionalKey(
    Schema.Array(Schema.String.check(Schema.isMaxLength(2_000))).check(Schema.isMaxLength(500)),
  ),
}).check(Schema.makeFilter(({ op, values = [] }) => {
  const issue = op === "exists" || op === "not_exists"
    ? values.length === 0 ? undefined : `must be absent for ${op}`
    : op === "in" || op === "not_in"
    ? values.length > 0 ? undefined : `must have 1 to 500 values for ${op}`
    : values.length === 1
    ? undefined
    : `must have exactly one value for ${op}`
  return issue === undefined ? undefined : { path: ["values"], issue }
}))
export type MappingCondition = typeof MappingCondition.Type

/**
 * How an organization's own events are read. Paths are `$.a.b`, `$["any name"]`, `$.list[0]`, `$.list[*]`; `$` is the item,
 * `$body` the whole body.
 *
 * ```json
 * {
 *   "version": 1,
 *   "items": "$.data.items[*]",
 *   "where": [{ "from": "$.channel", "op": "is", "values": ["email"] }],
 *   "event": { "from": ["$.kind"], "table": { "MailRead": "open", "Ping": "ignore" }, "default": "known" },
 *   "tracking_id": { "from": ["$.meta.tracking_id", { "path": "$.url", "query": "tracking_id" }], "required": true },
 *   "user": { "from": ["$.person.id", "$.person.email"] },
 *   "event_id": "$.id",
 *   "occurred_at": { "from": ["$.at"], "unit": "seconds" }
 * }
 * ```
 */
export const Mapping = Schema.Struct({
  version: Schema.optionalKey(Schema.Literal(1)),
  /** The items; where it finds an array, its elements. Without it the body is the item, or the list of them. */
  items: Schema.optionalKey(Schema.Union([
    InnerPath,
    Schema.Struct({ path: InnerPath, json: Schema.optionalKey(InnerPath) }),
  ])),
  /** An item that fails one of them is skipped, as expected. */
  where: Schema.optionalKey(Schema.Array(MappingCondition).check(Schema.isMaxLength(16))),
  event: EventField,
  tracking_id: Schema.optionalKey(Field),
  template_id: Schema.optionalKey(Field),
  user: Schema.optionalKey(Field),
  /** Unique to the event, and not to its message: an open and a click under one id would be one event. */
  event_id: Schema.optionalKey(Field),
  /** The source's name of the message, the recipient included: see `NormalizedEvent.messageKey`. */
  message_id: Schema.optionalKey(Field),
  occurred_at: Schema.optionalKey(TimeField),
  automated: Schema.optionalKey(MachineField),
  link: Schema.optionalKey(Field),
  /** The value of a conversion or refund; other events have none. */
  value: Schema.optionalKey(Field),
  /** ISO 4217 code of the value's currency. */
  currency: Schema.optionalKey(Field),
  /** IANA name of the user's time zone; invalid names are ignored. */
  time_zone: Schema.optionalKey(Field),
}).check(
  Schema.makeFilter(({ message_id, tracking_id, user }) =>
    tracking_id === undefined && user === undefined && message_id === undefined
      ? "must have tracking_id, user or message_id: without any, no event belongs to a message"
      : undefined
  ),
)
export type Mapping = typeof Mapping.Type

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => issue._tag === "UnexpectedKey" ? "is unknown" : SchemaIssue.defaultLeafHook(issue),
})

const decodeMapping = Schema.decodeUnknownResult(Mapping)

/** Most values of a mapping: one with every list at its longest has half of them. */
const maxValues = 20_000

/**
 * Decodes a mapping, or lists every fault (up to 100), each with its JSON pointer. Unknown members are faults, so that
 * `trackingId` for `tracking_id` is noticed. A mapping of more than 20,000 values has that one fault.
 */
export const decode = (input: unknown): Result.Result<Mapping, ReadonlyArray<Fault>> => {
  if (hasMoreValuesThan(input, maxValues)) {
    return Result.fail([{ pointer: "", detail: "must have at most 20,000 values in all its lists and tables" }])
  }
  return Result.mapError(
    decodeMapping(input, { errors: "all", onExcessProperty: "error" }),
    ({ issue }) =>
      issuesOf(issue).issues.slice(0, 100).map(({ message, path = [] }) => ({
        pointer: path.map((segment) => pointerPart(typeof segment === "object" ? segment.key : segment)).join(""),
        detail: plainMessage(message),
      })),
  )
}

const pointerPart = (name: PropertyKey): string => `/${JsonPointer.escapeToken(String(name).toWellFormed())}`
