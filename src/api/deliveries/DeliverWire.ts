import { Result, Schema } from "effect"
import type { Attributes } from "../../domain/Attributes.ts"
import type { Fault } from "../../domain/Errors.ts"
import { decoder, unknownMembersOf } from "../../domain/Faults.ts"
import { CopyId, GivenCopyId, GivenTemplateId, isIdText, TemplateId, UserId } from "../../domain/Ids.ts"
import { type LearningWindow, learningWindow } from "../../domain/LearningWindow.ts"
import { Priority } from "../../delivery/Delivery.ts"
import type { Placeholder } from "../../text/Placeholders.ts"
import { validateAddress } from "../../text/Email.ts"
import {
  attrsOf,
  both,
  isObject,
  isOptionalBoolean,
  isOptionalId,
  noFields,
  policyMembers,
  quickPolicyMembers,
  withPlaceholders,
} from "../generate/GenerateWire.ts"

// The body of Deliver. As in Generate, `null` counts as absent, and members that are not declared here are ignored.

const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/**
 * Maximum time from a request to the send time that it schedules. Outcomes count for 14 days after the decision. Unit:
 * days.
 */
const scheduledDays = 7

const Address = Schema.String.check(Schema.makeFilter<string>((email) => validateAddress(email)))

/** The body of Deliver: one message to one recipient. */
export const DeliverBody = Schema.Struct({
  template_id: GivenTemplateId,
  email: Address.annotate({ description: "The recipient: one address, without a name" }),
  copy_id: optional(GivenCopyId).annotate({ description: "Forces this variant" }),
  fields: optional(Schema.Record(Schema.String, Schema.Unknown)).annotate({
    description: "Values for the Liquid placeholders of the variant, by name",
  }),
  attrs: optional(Schema.Record(Schema.String, Schema.Unknown)).annotate({
    description: "Targeting attributes: strings, numbers, booleans, or arrays of these; compared in lowercase, " +
      "without white space around them and without invisible characters. At most 1,000 " +
      "attributes, 1,000 characters in a string, and 1,000 elements or 20,000 characters in an array",
  }),
  ...policyMembers,
  send_at: optional(Schema.String).annotate({
    description: `Earliest time to send: ISO 8601 with an offset, at most ${scheduledDays} days ahead. Default now`,
  }),
  optimize_send_time: optional(Schema.Boolean).annotate({
    description: "true: sends at the hour Delay recommends for this recipient, not before `send_at`. Default false",
  }),
  expires_at: optional(Schema.String).annotate({
    description:
      "Latest time to send: ISO 8601 with an offset, later than `send_at`. A message not sent by then fails and is not " +
      "retried. Default: the message does not expire",
  }),
  priority: optional(Priority).annotate({
    description:
      "`transactional` messages are sent before all waiting `bulk` messages. Default: `transactional` if the template has " +
      "`ignore_unsubscribes`, else `bulk`",
  }),
}).annotate({ identifier: "DeliverRequest" })

/** A decoded request for one message, with defaults filled in. */
interface Deliver {
  readonly templateId: TemplateId
  readonly email: UserId
  readonly copyId: CopyId | undefined
  readonly fields: Readonly<Record<string, unknown>>
  readonly attrs: Attributes
  readonly window: LearningWindow
  readonly useCache: boolean
  readonly epsilon: number | undefined
  /** Unix milliseconds. */
  readonly sendAt: number | undefined
  readonly optimizeSendTime: boolean
  /** Unix milliseconds. */
  readonly expiresAt: number | undefined
  readonly priority: Priority | undefined
  /** Unfilled placeholders in the body. Absent if there are no unfilled placeholders. */
  readonly placeholders?: ReadonlyArray<Placeholder> | undefined
}

type Decoded<A> = Result.Result<A, ReadonlyArray<Fault>>

const decodeBody = decoder(DeliverBody)

const iso = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/

/** Decodes the time in a member of the body to Unix milliseconds. Undefined if the member is not a string. */
const timeOf = (input: unknown, member: "send_at" | "expires_at"): Decoded<number | undefined> => {
  const text = input !== null && typeof input === "object" ? (input as Record<string, unknown>)[member] : undefined
  if (typeof text !== "string") return Result.succeed(undefined)
  const at = iso.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(at)
    ? Result.fail([{
      pointer: `/${member}`,
      detail: "must be an ISO 8601 time with an offset, such as 2026-05-04T09:30:00Z",
    }])
    : Result.succeed(at)
}

interface Times {
  readonly sendAt: number | undefined
  readonly expiresAt: number | undefined
}

/**
 * Decodes the earliest time to send and the expiry. An `expires_at` in the past is not a fault of the body, because it
 * has a problem of its own.
 */
const timesOf = (input: unknown, now: number): Decoded<Times> =>
  Result.flatMap(
    both(timeOf(input, "send_at"), timeOf(input, "expires_at"), (sendAt, expiresAt): Times => ({ sendAt, expiresAt })),
    ({ expiresAt, sendAt }) => {
      const faults: Array<Fault> = []
      if (sendAt !== undefined && sendAt > now + scheduledDays * 86_400_000) {
        faults.push({ pointer: "/send_at", detail: `must be at most ${scheduledDays} days ahead` })
      }
      if (sendAt !== undefined && expiresAt !== undefined && expiresAt <= sendAt) {
        faults.push({ pointer: "/expires_at", detail: "must be later than send_at" })
      }
      return faults.length === 0 ? Result.succeed({ sendAt, expiresAt }) : Result.fail(faults)
    },
  )

/** Finds members of the body of Deliver that have no effect. */
export const unknownInDeliver = unknownMembersOf(DeliverBody.fields)

/**
 * Decodes a faultless body without times and priority to the result of the schema, in a fraction of the time. Undefined
 * for other bodies.
 */
export const quickDeliverBody = (input: unknown): Deliver | undefined => {
  if (!isObject(input)) return undefined
  const { copy_id, email, expires_at, fields, optimize_send_time, priority, send_at, template_id } = input
  if ((expires_at ?? send_at ?? priority ?? undefined) !== undefined) return undefined
  if (!isIdText(template_id) || !isOptionalId(copy_id)) return undefined
  if (typeof email !== "string" || validateAddress(email) !== undefined) return undefined
  if ((fields !== undefined && fields !== null && !isObject(fields)) || !isOptionalBoolean(optimize_send_time)) {
    return undefined
  }
  const policy = quickPolicyMembers(input)
  const attrs = attrsOf(input, "/attrs")
  if (policy === undefined || Result.isFailure(attrs)) return undefined
  return {
    templateId: template_id as TemplateId,
    email: email as UserId,
    copyId: (copy_id ?? undefined) as CopyId | undefined,
    fields: fields ?? noFields,
    attrs: attrs.success,
    ...policy,
    sendAt: undefined,
    optimizeSendTime: optimize_send_time ?? false,
    expiresAt: undefined,
    priority: undefined,
  }
}

/** Decodes the body of Deliver, received at `now` (Unix milliseconds), or lists every fault. */
export const deliverBody = (input: unknown, now: number): Decoded<Deliver> => {
  const quick = quickDeliverBody(input)
  if (quick !== undefined) return Result.succeed(withPlaceholders(quick, input))
  return both(
    both(decodeBody(input), attrsOf(input, "/attrs"), (body, attrs) => ({ body, attrs })),
    timesOf(input, now),
    ({ attrs, body }, { expiresAt, sendAt }) =>
      withPlaceholders<Deliver>({
        templateId: body.template_id,
        email: body.email as UserId,
        copyId: body.copy_id ?? undefined,
        fields: body.fields ?? {},
        attrs,
        window: learningWindow(body.lookback_days, body.offset_days),
        useCache: body.use_cache ?? true,
        epsilon: body.epsilon ?? undefined,
        sendAt,
        optimizeSendTime: body.optimize_send_time ?? false,
        expiresAt,
        priority: body.priority ?? undefined,
      }, input),
  )
}
