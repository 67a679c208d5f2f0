import { JsonPointer, Result, Schema } from "effect"
import * as Attributes from "../../domain/Attributes.ts"
import type { Fault } from "../../domain/Errors.ts"
import { controlFault, hasControl } from "../../json/ControlNames.ts"
import * as Json from "../../json/Json.ts"
import { type LearningWindow, learningWindow } from "../../domain/LearningWindow.ts"
import {
  CopyId,
  GivenCopyId,
  GivenTemplateId,
  GivenTrackingId,
  GivenUserId,
  isIdText,
  TemplateId,
  TrackingId,
  UserId,
} from "../../domain/Ids.ts"
import { type Decode, decoder, unknownMembersOf } from "../../domain/Faults.ts"
import { NameCost } from "../../json/NameCost.ts"
import { collectPlaceholders, collectSuspects, type Placeholder } from "../../text/Placeholders.ts"
import { separatorFaults } from "../http/QueryFaults.ts"
import { addNested, put } from "./NestedParameters.ts"

// Bodies and parameters of Generate and Batch generate. `null` counts as absent, because platforms send it for unknown
// values. Members that are not declared here are ignored, with a warning.

/** Members whose values have any shape and are not decoded. Templates render them. */
export const opaque = ["fields"]

const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** A JSON object of substitution values. */
const Fields = Schema.Record(Schema.String, Schema.Unknown).annotate({
  description: "Values for the Liquid placeholders of the variant, by name",
})
const Attrs = Schema.Record(Schema.String, Schema.Unknown).annotate({
  description: "Targeting attributes: strings, numbers, booleans, or arrays of these; compared in lowercase, " +
    "without white space around them and without invisible characters. At most 1,000 " +
    "attributes, 1,000 characters in a string, and 1,000 elements or 20,000 characters in an array",
})

const shared = { user_id: optional(GivenUserId), fields: optional(Fields), attrs: optional(Attrs) }

/** The body of Generate: one template for one user. */
export const GenerateBody = Schema.Struct({
  template_id: GivenTemplateId,
  tracking_id: optional(GivenTrackingId),
  ...shared,
}).annotate({ identifier: "GenerateRequest" })

const days = (minimum: number) => Schema.Finite.check(Schema.isBetween({ minimum, maximum: 365 }))

/** Parameters of the policy: members that Batch generate and Deliver share. */
export const policyMembers = {
  lookback_days: optional(days(1)).annotate({
    description: "Length of the learning window, 1 to 365 days. Default 14",
  }),
  offset_days: optional(days(0)).annotate({
    description: "Days from the end of the learning window to now, 0 to 365. Default 3",
  }),
  use_cache: optional(Schema.Boolean).annotate({
    description: "false: fold pending outcomes and refit the model first. Default true",
  }),
  epsilon: optional(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))).annotate({
    description:
      "Probability of choosing uniformly at random instead of the variant with the best estimate. Absent: Thompson sampling",
  }),
}

const BatchItem = Schema.Struct({
  template_id: GivenTemplateId,
  copy_id: optional(GivenCopyId),
  tracking_id: optional(GivenTrackingId),
})

/** The body of Batch generate: up to 20 templates for one user. */
export const BatchBody = Schema.Struct({
  requests: Schema.Array(BatchItem).check(Schema.isMinLength(1), Schema.isMaxLength(20)),
  ...shared,
  ...policyMembers,
  trace: optional(Schema.Boolean),
}).annotate({ identifier: "BatchGenerateRequest" })

/** A decoded request for one variant of one template. */
export interface GenerateRequest {
  readonly templateId: TemplateId
  readonly trackingId: TrackingId | undefined
  readonly userId: UserId | undefined
  readonly fields: Readonly<Record<string, unknown>>
  readonly attrs: Attributes.Attributes
  /** Unfilled placeholders in the body. Absent if there are no unfilled placeholders. */
  readonly placeholders?: ReadonlyArray<Placeholder> | undefined
}

/** A decoded request for variants of several templates, with defaults filled in. */
export interface BatchGenerateRequest extends Omit<GenerateRequest, "templateId" | "trackingId"> {
  readonly items: ReadonlyArray<{
    readonly templateId: TemplateId
    readonly trackingId: TrackingId | undefined
    readonly copyId: CopyId | undefined
  }>
  readonly window: LearningWindow
  readonly useCache: boolean
  readonly epsilon: number | undefined
  readonly trace: boolean
}

type Decoded<A> = Result.Result<A, ReadonlyArray<Fault>>

/** The fields of a request without `fields`. */
export const noFields = Object.freeze(Object.create(null)) as Readonly<Record<string, unknown>>

/** Decodes `attrs` of a body, or lists every fault. The pointers of the faults begin with `at`. */
export const attrsOf = (input: unknown, at: string): Decoded<Attributes.Attributes> => {
  const attrs = input !== null && typeof input === "object" && "attrs" in input ? input.attrs : undefined
  if (attrs === null || attrs === undefined) return Result.succeed(Attributes.empty)
  const parsed = Attributes.parse(attrs)
  return Result.isSuccess(parsed)
    ? parsed
    : Result.fail(parsed.failure.map(({ detail, pointer }) => ({ pointer: `${at}${pointer}`, detail })))
}

/** Combines two results. Fails with the faults of both; a pointer that both report is listed once. */
export const both = <A, B, C>(a: Decoded<A>, b: Decoded<B>, combine: (a: A, b: B) => C): Decoded<C> => {
  if (Result.isSuccess(a) && Result.isSuccess(b)) return Result.succeed(combine(a.success, b.success))
  // Both decoders report a fault of `attrs` as a whole.
  const known = new Set<string>()
  const faults = [...(Result.isFailure(b) ? b.failure : []), ...(Result.isFailure(a) ? a.failure : [])]
  return Result.fail(faults.filter(({ pointer }) => !known.has(pointer) && known.add(pointer)))
}

/** Returns a decoded request with the unfilled placeholders of its body. */
export const withPlaceholders = <A extends object>(request: A, body: unknown): A => {
  const { attrs, fields, requests } = body as Readonly<Record<string, unknown>>
  const found: Array<Placeholder> = []
  collectSuspects(body as object, "/", found)
  if (Array.isArray(requests)) requests.forEach((item, index) => collectSuspects(item, `/requests/${index}/`, found))
  collectPlaceholders(attrs, "/attrs", found)
  collectPlaceholders(fields, "/fields", found)
  return found.length === 0 ? request : { ...request, placeholders: found }
}

const decodeGenerate = decoder(GenerateBody)

/** Whether a value is a JSON object. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether a value is absent, null, or the valid text of an id. */
export const isOptionalId = (value: unknown): value is string | null | undefined =>
  value === undefined || value === null || isIdText(value)

/** Decodes a faultless body to the result of `GenerateBody`, in a tenth of the time. Undefined for other bodies. */
export const quickGenerateBody = (input: unknown): GenerateRequest | undefined => {
  if (!isObject(input)) return undefined
  const { fields, template_id, tracking_id, user_id } = input
  if (!isIdText(template_id) || !isOptionalId(tracking_id) || !isOptionalId(user_id)) return undefined
  if (fields !== undefined && fields !== null && !isObject(fields)) return undefined
  const attrs = attrsOf(input, "")
  if (Result.isFailure(attrs)) return undefined
  return {
    templateId: template_id as TemplateId,
    trackingId: (tracking_id ?? undefined) as TrackingId | undefined,
    userId: (user_id ?? undefined) as UserId | undefined,
    fields: fields ?? noFields,
    attrs: attrs.success,
  }
}

/** Decodes the body of Generate, or lists every fault. */
export const generateBody: Decode<GenerateRequest> = Object.assign(
  (input: unknown): Decoded<GenerateRequest> => {
    const quick = quickGenerateBody(input)
    return quick !== undefined
      ? Result.succeed(withPlaceholders(quick, input))
      : both(decodeGenerate(input), attrsOf(input, "/attrs"), (body, attrs) =>
        withPlaceholders({
          templateId: body.template_id,
          trackingId: body.tracking_id ?? undefined,
          userId: body.user_id ?? undefined,
          fields: body.fields ?? noFields,
          attrs,
        }, input))
  },
  { unknownMembers: unknownMembersOf(GenerateBody.fields) },
)

const decodeBatch = decoder(BatchBody)

/** Decoded parameters of the policy. */
type PolicyMembers = Pick<BatchGenerateRequest, "epsilon" | "useCache" | "window">

const isOptionalNumber = (value: unknown, minimum: number, maximum: number): value is number | null | undefined =>
  value === undefined || value === null || (typeof value === "number" && value >= minimum && value <= maximum)

/** Whether a value is absent, null or a boolean. */
export const isOptionalBoolean = (value: unknown): value is boolean | null | undefined =>
  value === undefined || value === null || typeof value === "boolean"

/** Decodes faultless `policyMembers`. Undefined for other values. */
export const quickPolicyMembers = (
  { epsilon, lookback_days, offset_days, use_cache }: Readonly<Record<string, unknown>>,
): PolicyMembers | undefined =>
  isOptionalNumber(lookback_days, 1, 365) && isOptionalNumber(offset_days, 0, 365) &&
    isOptionalNumber(epsilon, 0, 1) && isOptionalBoolean(use_cache)
    ? {
      window: learningWindow(lookback_days, offset_days),
      useCache: use_cache ?? true,
      epsilon: epsilon ?? undefined,
    }
    : undefined

/**
 * Decodes the items of a faultless batch. Undefined for other batches, such as a batch with a repeated `template_id`.
 */
const quickItems = (requests: unknown): BatchGenerateRequest["items"] | undefined => {
  if (!Array.isArray(requests) || requests.length < 1 || requests.length > 20) return undefined
  const items: Array<BatchGenerateRequest["items"][number]> = []
  for (const request of requests) {
    if (!isObject(request)) return undefined
    const { copy_id, template_id, tracking_id } = request
    if (!isIdText(template_id) || !isOptionalId(copy_id) || !isOptionalId(tracking_id)) return undefined
    if (items.some(({ templateId }) => templateId === template_id)) return undefined
    items.push({
      templateId: template_id as TemplateId,
      trackingId: (tracking_id ?? undefined) as TrackingId | undefined,
      copyId: (copy_id ?? undefined) as CopyId | undefined,
    })
  }
  return items
}

/** Decodes a faultless body to the result of `BatchBody`, in a fraction of the time. Undefined for other bodies. */
export const quickBatchBody = (input: unknown): BatchGenerateRequest | undefined => {
  if (!isObject(input)) return undefined
  const { fields, requests, trace, user_id } = input
  const items = quickItems(requests)
  const policy = quickPolicyMembers(input)
  if (items === undefined || policy === undefined || !isOptionalId(user_id)) return undefined
  if ((fields !== undefined && fields !== null && !isObject(fields)) || !isOptionalBoolean(trace)) return undefined
  const attrs = attrsOf(input, "")
  if (Result.isFailure(attrs)) return undefined
  return {
    items,
    userId: (user_id ?? undefined) as UserId | undefined,
    fields: fields ?? noFields,
    attrs: attrs.success,
    ...policy,
    trace: trace ?? false,
  }
}

const decodeBatchBody = (input: unknown): Decoded<BatchGenerateRequest> => {
  const quick = quickBatchBody(input)
  if (quick !== undefined) return Result.succeed(withPlaceholders(quick, input))
  const decoded = both(decodeBatch(input), attrsOf(input, "/attrs"), (body, attrs): BatchGenerateRequest => ({
    items: body.requests.map((item) => ({
      templateId: item.template_id,
      trackingId: item.tracking_id ?? undefined,
      copyId: item.copy_id ?? undefined,
    })),
    userId: body.user_id ?? undefined,
    fields: body.fields ?? noFields,
    attrs,
    window: learningWindow(body.lookback_days, body.offset_days),
    useCache: body.use_cache ?? true,
    epsilon: body.epsilon ?? undefined,
    trace: body.trace ?? false,
  }))
  return Result.flatMap(decoded, (ask) => {
    const seen = new Set<string>()
    const twice = ask.items.flatMap(({ templateId }, index) =>
      seen.size === seen.add(templateId).size
        ? [{
          pointer: `/requests/${index}/template_id`,
          detail: "is repeated; each template_id can occur once, because it is the key in the response",
        }]
        : []
    )
    return twice.length === 0 ? Result.succeed(withPlaceholders(ask, input)) : Result.fail(twice)
  })
}

const unknownInBatch = unknownMembersOf(BatchBody.fields)
const unknownInItem = unknownMembersOf(BatchItem.fields)

/** Decodes the body of Batch generate, or lists every fault. */
export const batchBody: Decode<BatchGenerateRequest> = Object.assign(decodeBatchBody, {
  unknownMembers: (input: unknown) => {
    const items: unknown = input !== null && typeof input === "object" && "requests" in input ? input.requests : []
    return [
      ...unknownInBatch(input),
      ...(Array.isArray(items) ? items.flatMap((item, index) => unknownInItem(item, `/requests/${index}`)) : []),
    ]
  },
})

/**
 * Matches `attrs[tier]` and `attrs.tier`, which name the key `tier`. `attrs[tier][]` is an array, even with a single
 * value. Attributes have no members, so `attrs.a.b` names the key `a.b`.
 */
const keyed = /^(attrs)(?:\[(.*)\]|\.(.+))$/s

const parameters = ["template_id", "user_id", "tracking_id", "fields", "attrs"]

/** Whether Generate by GET has a parameter with this name. */
export const isGenerateParameter = (name: string): boolean =>
  parameters.includes(name) || keyed.test(name) || /^fields[[.]/.test(name)

/**
 * Decodes the query of Generate by GET. `fields` and `attrs` are JSON objects, or have a parameter for each key, such
 * as `attrs[tier]=gold` or `attrs.tier=gold`. Keys of `fields` have any depth: see `addNested`. A repeated key forms an
 * array. Single keys override members of the JSON object. The pointer of a fault is the name of its parameter.
 */
export const generateQuery = (query: URLSearchParams): Decoded<GenerateRequest> => {
  const faults: Array<Fault> = [...separatorFaults(query)]
  const body: Record<string, unknown> = {}
  const objects: Record<string, Record<string, unknown>> = {}
  for (const name of parameters) {
    const values = query.getAll(name)
    if (values.length > 1) faults.push({ pointer: name, detail: "is given more than once" })
    const value = values[0]
    if (value === undefined) continue
    if (name !== "fields" && name !== "attrs") {
      put(body, name, value)
      continue
    }
    try {
      const parsed: unknown = Json.parseRequest(value)
      if (parsed === null || typeof parsed !== "object" || Array.isArray(parsed)) throw new TypeError("not an object")
      objects[name] = parsed as Record<string, unknown>
    } catch (error) {
      if (error instanceof Json.ControlNames) {
        for (const pointer of error.pointers) {
          faults.push({ pointer: parameterOf(`/${name}${pointer}`), detail: controlFault })
        }
      } else faults.push({ pointer: name, detail: `must be one JSON object, such as ${name}={"key":"value"}` })
    }
  }
  const cost = new NameCost()
  const singles = new Map<string, ReadonlyArray<string>>()
  for (const name of new Set(query.keys())) {
    const match = keyed.exec(name)
    if (match === null) continue
    const isArray = match[2]?.endsWith("][") ?? false
    const key = match[3] ?? (isArray ? match[2]!.slice(0, -2) : match[2]!)
    if (key === "" || /[[\]]/.test(key)) {
      faults.push({ pointer: name, detail: `must name one key, such as ${match[1]}[key]=value` })
      continue
    }
    if (hasControl(key)) {
      faults.push({ pointer: name, detail: controlFault })
      continue
    }
    const target = objects[match[1]!] ??= {}
    const began = performance.now()
    const id = `${match[1]} ${key}`
    const values = [...singles.get(id) ?? [], ...query.getAll(name)]
    singles.set(id, values)
    put(target, key, isArray || values.length > 1 ? values : values[0])
    if (cost.add(1, performance.now() - began)) {
      faults.push({ pointer: match[1]!, detail: new Json.NamesCollide().message })
      break
    }
  }
  const fields = objects["fields"] ?? {}
  faults.push(...addNested(query, "fields", fields))
  if (Object.keys(fields).length > 0) objects["fields"] = fields
  Object.assign(body, objects)
  const decoded = generateBody(body)
  if (Result.isSuccess(decoded) && faults.length === 0) {
    const { placeholders } = decoded.success
    return placeholders === undefined ? decoded : Result.succeed({
      ...decoded.success,
      placeholders: placeholders.map((one) => ({ ...one, at: parameterOf(one.at) })),
    })
  }
  const named = Result.isFailure(decoded)
    ? decoded.failure.map(({ detail, pointer }) => ({ pointer: parameterOf(pointer), detail }))
    : []
  const known = new Set(faults.map(({ pointer }) => pointer))
  return Result.fail([...faults, ...named.filter(({ pointer }) => !known.has(pointer))])
}

/**
 * Returns the name of the parameter at a pointer: `attrs[tier]` for `/attrs/tier/0`, `fields[user][name]` for
 * `/fields/user/name`.
 */
const parameterOf = (pointer: string): string => {
  const [name = "", ...keys] = pointer.slice(1).split("/").map(JsonPointer.unescapeToken)
  return name + keys.slice(0, name === "fields" ? keys.length : 1).map((key) => `[${key}]`).join("")
}
