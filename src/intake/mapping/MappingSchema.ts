import { JsonPointer, Result, Schema, SchemaIssue } from "effect"
import type { Fault } from "../../domain/Errors.ts"
import { EventName } from "../../domain/EventKinds.ts"
import { plainMessage } from "../../text/FaultMessages.ts"
import { hasMoreValuesThan } from "../../domain/Faults.ts"
import { operators, parsePath } from "./MappingPath.ts"

/** Headers with credentials. A mapping must not read them, because events would store them. */
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

/** A path relative to the place where it is used, so `$body` is not allowed. */
const InnerPath = Path.check(
  Schema.makeFilter((text: string) => text.startsWith("$body") ? "must begin with $ here" : undefined),
)

/**
 * A source of a value: exactly one of `path`, `header` (case is ignored) and `literal`. With `json`, the found value is
 * JSON text (or already parsed), and the result is at that path inside it. With `query`, the found value is a URL, and
 * the result is that query parameter, percent-decoded once. With both, the URL is inside the JSON.
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
  /** The first alternative with a valid value determines the result. */
  from: Candidates,
  /** Whether an item without a value is skipped. Default: false. */
  required: Schema.optionalKey(Schema.Boolean),
}

/** A value of an event: a path, or alternatives in order. */
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
    /** Values that mark an event as automated; case is ignored. Default: boolean values such as `true`, `yes`, `1`. */
    equals: Schema.optionalKey(Schema.Array(Name).check(Schema.isMinLength(1), Schema.isMaxLength(50))),
  }),
])

const Meaning = Schema.Literals([...EventName.literals, "subscribe", "ignore"])

const EventField = Schema.Union([
  Path,
  Schema.Struct({
    from: Candidates,
    /**
     * Events by the source's event names; case is ignored. `subscribe` means opting in again, `ignore` marks names
     * without effect.
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
     * Event for names that are not in the table: one event, `ignore`, or `known` for the names of the default shape.
     * Default: `known`.
     */
    default: Schema.optionalKey(Schema.Literals([...Meaning.literals, "known"])),
  }),
])

/**
 * A condition. Texts are compared exactly, numbers and booleans as their JSON text. An absent value meets only the
 * negative conditions.
 */
const MappingCondition = Schema.Struct({
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
type MappingCondition = typeof MappingCondition.Type

/**
 * How an organization's own events are read. Paths are `$.a.b`, `$["any name"]`, `$.list[0]`, `$.list[*]`. `$` is the
 * item, `$body` the whole body.
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
  /**
   * Path of the items. If it matches an array, each element is an item. Default: the body is the item or the list of
   * items.
   */
  items: Schema.optionalKey(Schema.Union([
    InnerPath,
    Schema.Struct({ path: InnerPath, json: Schema.optionalKey(InnerPath) }),
  ])),
  /** Conditions. An item that does not meet all of them is skipped as expected. */
  where: Schema.optionalKey(Schema.Array(MappingCondition).check(Schema.isMaxLength(16))),
  event: EventField,
  tracking_id: Schema.optionalKey(Field),
  template_id: Schema.optionalKey(Field),
  user: Schema.optionalKey(Field),
  /** Must be unique to the event, not only to its message: an open and a click with one id would count as one event. */
  event_id: Schema.optionalKey(Field),
  /** The source's id of the message to one recipient: see `NormalizedEvent.messageKey`. */
  message_id: Schema.optionalKey(Field),
  occurred_at: Schema.optionalKey(TimeField),
  automated: Schema.optionalKey(MachineField),
  link: Schema.optionalKey(Field),
  /** The value of a conversion or refund. Other events have no value. */
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

/** Maximum number of values of a mapping. A mapping whose lists all have their maximum length has half as many. */
const maxValues = 20_000

/**
 * Decodes a mapping. Fails with every fault, up to 100, each with its JSON pointer. Unknown members are faults, so that
 * `trackingId` instead of `tracking_id` is noticed. If the input has more than 20,000 values, that is its only fault.
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
