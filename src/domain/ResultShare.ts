import { Schema } from "effect"

/** The possible lifetimes of a link to results. Unit: days. */
export const shareDays = [1, 7, 30, 90] as const

/** Days until a new link expires, unless the request states them. */
export const defaultShareDays = 7

/** A new read-only link to the results of a template. */
export const ResultShareInput = Schema.Struct({
  expires_in_days: Schema.optionalKey(Schema.Literals(shareDays)).annotate({
    description: `Days until the link expires. Default: ${defaultShareDays}`,
  }),
}).annotate({ identifier: "ResultShareInput" })
export type ResultShareInput = typeof ResultShareInput.Type

/** A read-only link to the results of a template, without its token. Times are ISO 8601 UTC. */
export const ResultShare = Schema.Struct({
  id: Schema.String,
  template_id: Schema.String,
  created_by: Schema.String.annotate({ description: "The name of the member, `former member`, or the API key" }),
  created_at: Schema.String,
  expires_at: Schema.String,
}).annotate({ identifier: "ResultShare" })
export type ResultShare = typeof ResultShare.Type
