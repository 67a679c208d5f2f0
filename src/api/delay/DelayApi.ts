import { Result, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import type { Fault } from "../../domain/Errors.ts"
import { decoder } from "../../domain/Faults.ts"
import { CopyId, GivenCopyId, GivenTemplateId, GivenUserId, isIdText, TemplateId, UserId } from "../../domain/Ids.ts"
import * as Problems from "../Problems.ts"
import { idFault } from "../../text/Placeholders.ts"
import { plusFault, separatorFaults } from "../http/QueryFaults.ts"
import { withKey } from "../openapi/Security.ts"
import { described } from "../../domain/described.ts"

/** A decoded request for a send time. */
export interface DelayRequest {
  readonly copyId: CopyId
  readonly templateId: TemplateId | undefined
  readonly userId: UserId | undefined
  readonly email: string | undefined
  readonly trace: boolean
}

const Query = Schema.Struct({
  delay_id: GivenCopyId,
  template_id: Schema.optionalKey(GivenTemplateId),
  user_id: Schema.optionalKey(GivenUserId),
  email: Schema.optionalKey(GivenUserId),
  trace: Schema.optionalKey(Schema.Literals(["true", "false"])),
})
const decode = decoder(Query)
const names = Object.keys(Query.fields)

/** Whether Delay has a parameter with this name. */
export const isDelayParameter = (name: string): boolean => names.includes(name)

/**
 * Decodes faultless parameters to the result of the schema, in a fraction of the time. Undefined for other parameters.
 */
const quickDelayQuery = (query: URLSearchParams): DelayRequest | undefined => {
  const found: Record<string, string> = {}
  for (const [name, value] of query) {
    if (!names.includes(name) || found[name] !== undefined || !isIdText(value)) return undefined
    found[name] = value
  }
  const { delay_id, email, template_id, trace, user_id } = found
  if (email !== undefined && plusFault(email) !== undefined) return undefined
  if (delay_id === undefined || (trace !== undefined && trace !== "true" && trace !== "false")) return undefined
  return {
    copyId: delay_id as CopyId,
    templateId: template_id as TemplateId | undefined,
    userId: user_id as UserId | undefined,
    email,
    trace: trace === "true",
  }
}

/** Decodes the query of Delay, or lists every fault by the name of the parameter. Other parameters are ignored. */
export const delayQuery = (query: URLSearchParams): Result.Result<DelayRequest, ReadonlyArray<Fault>> => {
  const quick = quickDelayQuery(query)
  if (quick !== undefined) return Result.succeed(quick)
  const input: Record<string, string> = {}
  const faults: Array<Fault> = [...separatorFaults(query)]
  for (const name of names) {
    const values = query.getAll(name)
    if (values.length > 1) faults.push({ pointer: name, detail: "is given more than once" })
    if (values[0] !== undefined) input[name] = values[0]
  }
  const email = input["email"] ?? ""
  const plus = idFault(email) === undefined ? plusFault(email) : undefined
  if (plus !== undefined && faults.every(({ pointer }) => pointer !== "email")) {
    faults.push({ pointer: "email", detail: plus })
  }
  const decoded = decode(input)
  if (Result.isSuccess(decoded) && faults.length === 0) {
    const { delay_id, template_id, trace, user_id } = decoded.success
    return Result.succeed({
      copyId: delay_id,
      templateId: template_id,
      userId: user_id,
      email: decoded.success.email,
      trace: trace === "true",
    })
  }
  const known = new Set(faults.map(({ pointer }) => pointer))
  const others = Result.isFailure(decoded) ? decoded.failure : []
  for (const { detail, pointer } of others) {
    if (!known.has(pointer.slice(1))) faults.push({ pointer: pointer.slice(1), detail })
  }
  return Result.fail(faults)
}

/** The data and steps behind a response of Delay. */
const DelayTrace = Schema.Struct({
  basis: described(
    Schema.Literals(["user", "variant", "template", "organization", "default"]),
    "The narrowest level with data; `default`: no level has data, and the message is sent now if that is allowed",
  ),
  explored: described(
    Schema.Boolean,
    "Whether the time was drawn uniformly from all allowed times, as in 2 % of responses. Messages that have to wait " +
      "are drawn from 7:00 to 22:00, if possible",
  ),
  after_horizon: described(
    Schema.Boolean,
    "No time within the horizon is allowed, or none but at night: the result is at a good hour of the next open day",
  ),
  time_zone: Schema.String,
  time_zone_of: described(
    Schema.Literals(["user", "organization"]),
    "Whether the time zone is the user's or the organization's",
  ),
  tau_hours: described(Schema.NullOr(Schema.Finite), "Hours in which a message loses its freshness; null by default"),
  levels: described(
    Schema.Array(Schema.Struct({
      level: Schema.String,
      touches: Schema.Finite,
      engagements: Schema.Finite,
      weight: Schema.Finite,
    })),
    "From the narrowest to the widest. `weight` is the share of the level's own data; the remainder comes from the next level",
  ),
  curve: described(
    Schema.Array(Schema.Struct({ from: Schema.String, local_hour: Schema.Finite, value: Schema.Finite })),
    "The engagements expected of a message sent in each allowed hour of the horizon, or of the next open day",
  ),
}).annotate({ identifier: "DelayTrace" })

/** Recommended send times. */
export class DelayGroup extends HttpApiGroup.make("delay")
  .add(
    HttpApiEndpoint.get("delay", "/api/delay/:org", {
      params: { org: Schema.String },
      query: {
        delay_id: described(Schema.String, "Id of the variant: `copy.id` in the response of Generate"),
        template_id: Schema.optionalKey(
          described(Schema.String, "Template of the variant; needed if several templates have a variant with this id"),
        ),
        user_id: Schema.optionalKey(described(Schema.String, "Your id of the recipient")),
        email: Schema.optionalKey(
          described(
            Schema.String,
            "Alternative to `user_id`, which takes precedence if both are given. A `+` in it is written `%2B`",
          ),
        ),
        trace: Schema.optionalKey(described(Schema.String, "true: adds `trace`, the data behind the result")),
      },
      success: Schema.Struct({
        service_words: described(
          Schema.Struct({
            delay_id: Schema.String,
            delay_time: described(
              Schema.String,
              "ISO 8601 in UTC, never in the past, within the organization's `delay_horizon_hours`, outside its " +
                "`quiet_hours` and on its `allowed_days`. If they exclude the whole horizon, or its hours from 7:00 to " +
                "22:00: at a good hour of the next open day",
            ),
            trace: Schema.optionalKey(DelayTrace),
          }),
          "The setting SERVICE_WORDS can rename this member",
        ),
      }),
      error: [
        Problems.InvalidRequest,
        Problems.Unauthorized,
        Problems.RateLimited,
        Problems.Forbidden,
        Problems.Unavailable,
        Problems.VariantNotFound,
      ],
    }).annotateMerge(withKey("generate"))
      .annotate(OpenApi.Summary, "Recommended send time of a variant for one user"),
  )
  .annotate(OpenApi.Description, "Send times") {}
