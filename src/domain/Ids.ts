import { randomInt } from "node:crypto"
import { Schema } from "effect"
import { idFault } from "../text/Placeholders.ts"

/**
 * The fault of a string that the service cannot store and return unchanged: NUL (PostgreSQL refuses it), another
 * control character (logs, headers, terminals), or a lone surrogate (UTF-8 cannot encode it). Undefined for a valid
 * string.
 */
const faultIn = (value: string): string | undefined =>
  !value.isWellFormed()
    ? "must be well-formed Unicode (no lone surrogates)"
    // deno-lint-ignore no-control-regex
    : /[\u0000-\u001f\u007f]/.test(value)
    ? "must not contain control characters"
    : undefined

const printable = Schema.makeFilter<string>(faultIn)

const filledIn = Schema.makeFilter<string>((value) => faultIn(value) ?? idFault(value))

const maxIdLength = 200

/** Text of `min` to `max` UTF-16 code units without control characters. */
const text = (min: number, max: number, filter = printable) =>
  // A description is attached to the last check, and lost if JSON Schema cannot express that check.
  Schema.String.check(filter, Schema.isMinLength(min), Schema.isMaxLength(max))

/**
 * The organization's name in paths: 1 to 63 characters, lowercase letters, digits, `-` and `_`, starting with a letter
 * or digit.
 */
export const OrgSlug = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9_-]{0,62}$/, {
    message: "must be 1 to 63 lowercase letters, digits, hyphens or underscores, starting with a letter or digit",
  }),
).pipe(Schema.brand("OrgSlug"))
export type OrgSlug = typeof OrgSlug.Type

/** A template's id within its organization, 1 to 200 characters. */
export const TemplateId = text(1, maxIdLength).pipe(Schema.brand("TemplateId"))
export type TemplateId = typeof TemplateId.Type

/** A variant's id within its template (`copy.id` on the wire), 1 to 200 characters. */
export const CopyId = text(1, maxIdLength).pipe(Schema.brand("CopyId"))
export type CopyId = typeof CopyId.Type

/** Links a served message to its events, 1 to 200 characters. With organization and template the key of a decision. */
export const TrackingId = text(1, maxIdLength).pipe(Schema.brand("TrackingId"))
export type TrackingId = typeof TrackingId.Type

/** The caller's name for an end user, 1 to 200 characters. */
export const UserId = text(1, maxIdLength).pipe(Schema.brand("UserId"))
export type UserId = typeof UserId.Type

// Ids in requests. An unfilled placeholder is refused. Rows that were stored under such an id earlier remain.
const given = () => text(1, maxIdLength, filledIn)
/** The id of a template in a request. Unfilled placeholders are refused. */
export const GivenTemplateId = given().pipe(Schema.brand("TemplateId"))
/** The id of a variant in a request. Unfilled placeholders are refused. */
export const GivenCopyId = given().pipe(Schema.brand("CopyId"))
/** The id of a message in a request. Unfilled placeholders are refused. */
export const GivenTrackingId = given().pipe(Schema.brand("TrackingId"))
/** The id of a person in a request. Unfilled placeholders are refused. */
export const GivenUserId = given().pipe(Schema.brand("UserId"))

/** Whether a value is a valid id in a request. Faster than a schema. */
export const isIdText = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= maxIdLength && faultIn(value) === undefined &&
  idFault(value) === undefined

/** The public part of an API key, also its id in the management API: 16 lowercase letters and digits. */
export const KeyId = Schema.String.check(Schema.isPattern(/^[a-z0-9]{16}$/)).pipe(Schema.brand("KeyId"))
export type KeyId = typeof KeyId.Type

/** A name for people, 1 to 200 characters. */
export const DisplayName = text(1, 200)

/** A group of the identity provider, 1 to 255 characters. */
export const GroupName = text(1, 255)

/** A remark for people, up to 200 characters. */
export const Remark = text(0, 200)

/** Generates an id: the prefix, `_`, and 14 random lowercase letters and digits (72 bits). */
export const randomId = (prefix: string): string =>
  `${prefix}_${Array.from({ length: 14 }, () => randomInt(36).toString(36)).join("")}`
