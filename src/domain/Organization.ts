import { Schema } from "effect"
import { DisplayName, OrgSlug } from "./Ids.ts"

const zones = new Map<string, boolean>()

const isTimeZone = (name: string): boolean => {
  // An offset such as +02:00 is accepted by Intl but is no IANA zone: it knows no daylight-saving time.
  if (/^[+-]/.test(name)) return false
  let known = zones.get(name)
  if (known === undefined) {
    try {
      new Intl.DateTimeFormat("en", { timeZone: name })
      known = true
    } catch {
      known = false
    }
    if (zones.size < 1000) zones.set(name, known)
  }
  return known
}

/** A time zone by its IANA name, such as `Europe/Berlin` or `UTC`. */
export const TimeZone = Schema.String.check(
  Schema.makeFilter<string>((value) =>
    isTimeZone(value) ? undefined : "must be an IANA time zone, such as Europe/Berlin or UTC"
  ),
)

/** Share of traffic chosen uniformly whatever is known: 0 to 0.2, 0.01 unless changed. */
export const ExplorationFloor = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.2 }))

/** What is needed to make an organization. `time_zone` is UTC unless given. */
export const OrganizationInput = Schema.Struct({
  slug: OrgSlug,
  name: DisplayName,
  time_zone: Schema.optionalKey(TimeZone),
})
export type OrganizationInput = typeof OrganizationInput.Type

/** A change of an organization: what is absent stays. */
export const OrganizationPatch = Schema.Struct({
  name: Schema.optionalKey(DisplayName),
  time_zone: Schema.optionalKey(TimeZone),
  exploration_floor: Schema.optionalKey(ExplorationFloor),
})
export type OrganizationPatch = typeof OrganizationPatch.Type

/** A stored organization, times as ISO 8601 UTC. */
export const Organization = Schema.Struct({
  slug: OrgSlug,
  name: Schema.String,
  time_zone: Schema.String,
  exploration_floor: Schema.Finite,
  created_at: Schema.String,
  updated_at: Schema.String,
})
export type Organization = typeof Organization.Type
