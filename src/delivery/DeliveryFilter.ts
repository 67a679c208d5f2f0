import { Result, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { isStorable } from "../domain/Attributes.ts"
import type { Fault } from "../domain/Errors.ts"
import { fromIssue } from "../domain/Faults.ts"
import type { DeliveryState } from "./Delivery.ts"
import { containing } from "./ReasonPattern.ts"

/** Selects the deliveries that match every member. */
export interface DeliveryFilter {
  readonly state?: DeliveryState | undefined
  readonly email?: string | undefined
  readonly templateId?: string | undefined
  readonly connection?: string | undefined
  /** Text that the reason contains. Case is ignored, and `…` matches any characters. */
  readonly reason?: string | undefined
  /**
   * Time bounds: from `since`, before `until`. They apply to the end of the delivery, or to its queuing if it has not
   * ended.
   */
  readonly since?: Date | undefined
  readonly until?: Date | undefined
}

const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/

const Instant = Schema.String.check(
  Schema.makeFilter<string>((text) =>
    instant.test(text) && Date.parse(text) >= 0
      ? undefined
      : "must be an ISO 8601 time from 1970 on with an offset, such as 2026-05-04T09:30:00Z"
  ),
)

const textOf = (most: number) =>
  Schema.String.check(
    Schema.makeFilter<string>((text) =>
      text.length > 0 && text.length <= most && isStorable(text)
        ? undefined
        : `must have 1 to ${most} characters, without NUL or lone surrogates`
    ),
  )

/** Descriptions of the members of a filter in the API. */
export const filterDescriptions = {
  since:
    "Only deliveries that ended at this time or later (ISO 8601). One that has not ended counts by the time at which " +
    "it was queued",
  until: "Only deliveries that ended before this time, or, if they have not ended, were queued before it",
  reason: "Only deliveries whose reason contains this text, in upper or lower case. `…` stands for any characters",
  template_id: "Only messages of this template",
  connection:
    "Only deliveries that this connection carried or tried to carry. Messages that were never tried have none",
  email: "Only messages to this address",
}

/** The members of a filter in the API, without the state. */
export const filterMembers = {
  since: Schema.optionalKey(Instant).annotate({ description: filterDescriptions.since }),
  until: Schema.optionalKey(Instant).annotate({ description: filterDescriptions.until }),
  reason: Schema.optionalKey(textOf(400)).annotate({ description: filterDescriptions.reason }),
  template_id: Schema.optionalKey(textOf(400)).annotate({ description: filterDescriptions.template_id }),
  connection: Schema.optionalKey(textOf(400)).annotate({ description: filterDescriptions.connection }),
  email: Schema.optionalKey(textOf(400)).annotate({ description: filterDescriptions.email }),
}

const Members = Schema.Struct(filterMembers)

/** A filter in the API, without the state. */
export type FilterMembers = typeof Members.Type

/** A filter without the state. */
export type BulkFilter = Omit<DeliveryFilter, "state">

const dateOf = (text: string | undefined) => text === undefined ? undefined : new Date(text)

/** Converts a filter from its API form. */
export const filterOf = ({ connection, email, reason, since, template_id, until }: {
  readonly [name in keyof FilterMembers]?: FilterMembers[name] | undefined
}): BulkFilter => ({
  email,
  templateId: template_id,
  connection,
  reason,
  since: dateOf(since),
  until: dateOf(until),
})

/** Converts a filter to its API form. */
export const membersOf = ({ connection, email, reason, since, templateId, until }: BulkFilter): FilterMembers => ({
  ...(since === undefined ? {} : { since: since.toISOString() }),
  ...(until === undefined ? {} : { until: until.toISOString() }),
  ...(reason === undefined ? {} : { reason }),
  ...(templateId === undefined ? {} : { template_id: templateId }),
  ...(connection === undefined ? {} : { connection }),
  ...(email === undefined ? {} : { email }),
})

/**
 * Returns a decoder that refuses unknown members and reports every fault. If unknown members were ignored, a misspelled
 * member would select more deliveries.
 */
export const strictDecoder = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })
  return (input: unknown): Result.Result<S["Type"], ReadonlyArray<Fault>> =>
    Result.mapError(decode(input), (error) =>
      fromIssue(error.issue).map(({ detail, pointer }) => ({
        pointer,
        detail: detail === "is unknown" ? "is not a member of this request" : detail,
      })))
}

/** Decodes the members of a filter, without the state. */
export const decodeMembers = strictDecoder(Members)

/** The column that the time bounds apply to. For one state it is a single column, so that an index can be used. */
const timeOf = (sql: SqlClient.SqlClient, state: DeliveryState | undefined) =>
  sql.literal(
    state === "failed" ? "d.finished_at" : state === "queued" ? "d.queued_at" : "COALESCE(d.finished_at, d.queued_at)",
  )

/** Condition: delivery `d` of an organization matches a filter. */
export const matching = (
  sql: SqlClient.SqlClient,
  { connection, email, reason, since, state, templateId, until }: DeliveryFilter,
) =>
  sql.and([
    ...(state === undefined ? [] : [sql`d.state = ${state}`]),
    ...(email === undefined ? [] : [sql`d.email = ${email}`]),
    ...(templateId === undefined ? [] : [sql`d.template_id = ${templateId}`]),
    ...(connection === undefined ? [] : [sql`d.connection = ${connection}`]),
    ...(reason === undefined ? [] : [sql`d.reason ILIKE ${containing(reason)}`]),
    ...(since === undefined ? [] : [sql`${timeOf(sql, state)} >= ${since}`]),
    ...(until === undefined ? [] : [sql`${timeOf(sql, state)} < ${until}`]),
  ])
