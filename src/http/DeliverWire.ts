import { Result, Schema } from "effect"
import type { Attributes } from "../domain/Attributes.ts"
import type { Fault } from "../domain/Errors.ts"
import { decoder } from "../domain/Faults.ts"
import { CopyId, TemplateId, UserId } from "../domain/Ids.ts"
import { validateAddress } from "../delivery/Email.ts"
import { attrsOf, both, policyMembers } from "./GenerateWire.ts"

// The body of Deliver as it comes in. As in Generate, `null` stands for an absent member, and members that are not named
// here are ignored.

const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** Messages can be scheduled this far ahead. Unit: days. Outcomes are counted for 14 days after the decision. */
export const scheduledDays = 7

const Address = Schema.String.check(Schema.makeFilter<string>((email) => validateAddress(email)))

export const DeliverBody = Schema.Struct({
  template_id: TemplateId,
  email: Address.annotate({ description: "The recipient: one address, without a name" }),
  copy_id: optional(CopyId).annotate({ description: "Forces this variant" }),
  fields: optional(Schema.Record(Schema.String, Schema.Unknown)).annotate({
    description: "Values for the Liquid placeholders of the variant, by name",
  }),
  attrs: optional(Schema.Record(Schema.String, Schema.Unknown)).annotate({
    description:
      "Targeting attributes: strings, numbers, booleans, or arrays of these; compared in lowercase. At most 1,000 " +
      "attributes, 1,000 characters in a string, and 1,000 elements or 20,000 characters in an array",
  }),
  ...policyMembers,
  send_at: optional(Schema.String).annotate({
    description: `Not before then: ISO 8601 with an offset, at most ${scheduledDays} days ahead. Default now`,
  }),
  optimize_send_time: optional(Schema.Boolean).annotate({
    description: "true: at the hour Delay advises for this recipient, from `send_at` on. Default false",
  }),
})

/** A request for one message, decoded, defaults filled in. */
export interface Deliver {
  readonly templateId: TemplateId
  readonly email: UserId
  readonly copyId: CopyId | undefined
  readonly fields: Readonly<Record<string, unknown>>
  readonly attrs: Attributes
  readonly window: { readonly lookbackDays: number; readonly offsetDays: number }
  readonly useCache: boolean
  readonly epsilon: number | undefined
  /** Unix milliseconds. */
  readonly sendAt: number | undefined
  readonly optimizeSendTime: boolean
}

type Decoded<A> = Result.Result<A, ReadonlyArray<Fault>>

const decodeBody = decoder(DeliverBody)

const iso = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/

const sendAtOf = (input: unknown, now: number): Decoded<number | undefined> => {
  const text = input !== null && typeof input === "object" && "send_at" in input ? input.send_at : undefined
  if (typeof text !== "string") return Result.succeed(undefined)
  const at = iso.test(text) ? Date.parse(text) : NaN
  if (Number.isNaN(at)) {
    return Result.fail([{
      pointer: "/send_at",
      detail: "must be an ISO 8601 time with an offset, such as 2026-05-04T09:30:00Z",
    }])
  }
  return at > now + scheduledDays * 86_400_000
    ? Result.fail([{ pointer: "/send_at", detail: `must be at most ${scheduledDays} days ahead` }])
    : Result.succeed(at)
}

/** Decodes the body of Deliver, received at `now` (Unix milliseconds), or lists every fault. */
export const deliverBody = (input: unknown, now: number): Decoded<Deliver> =>
  both(
    both(decodeBody(input), attrsOf(input, "/attrs"), (body, attrs) => ({ body, attrs })),
    sendAtOf(input, now),
    ({ attrs, body }, sendAt): Deliver => ({
      templateId: body.template_id,
      email: body.email as UserId,
      copyId: body.copy_id ?? undefined,
      fields: body.fields ?? {},
      attrs,
      window: { lookbackDays: body.lookback_days ?? 14, offsetDays: body.offset_days ?? 3 },
      useCache: body.use_cache ?? true,
      epsilon: body.epsilon ?? undefined,
      sendAt,
      optimizeSendTime: body.optimize_send_time ?? false,
    }),
  )
