import { Clock, Context, type Duration, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { dayMillis } from "../bandit/Window.ts"
import { expected, foldedHour, lookbackDays } from "../sendtime/Attention.ts"
import { Groups, isKnown, type Level, type TemplateLevels } from "../sendtime/Groups.ts"
import { allowedShare, type Permission, permissionOf } from "../sendtime/Slots.ts"
import { timing } from "../sendtime/Timing.ts"
import { followedHours } from "../sendtime/Touch.ts"
import type { TemplateNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { DayOfWeek } from "../domain/Season.ts"
import { Organizations } from "../organizations/Organizations.ts"
import { Templates } from "../templates/Templates.ts"
import type { SendTimeHour, TemplateSendTimes } from "./TemplateSendTimes.ts"

const weekHours = 168

/**
 * Folded hours of a week from Monday on, plus the hours in which the last message is followed. Hour 0 of the epoch was
 * on a Thursday.
 */
const hours = Uint8Array.from({ length: weekHours + followedHours }, (_, at) => foldedHour(4 * 24 + at))

/** The probability of at least one event at this rate. */
const atLeastOnce = (rate: number) => -Math.expm1(-rate)

/** Returns the hours of the week from Monday 0:00 on, with the attention of people in each. Pure. */
const weekOf = (
  { attention }: Pick<Level, "attention">,
  tau: number,
  permission: Permission,
): ReadonlyArray<SendTimeHour> =>
  Array.from(expected(attention, hours, weekHours, tau), (value, at) => {
    const day = Math.floor(at / 24)
    const hour = at % 24
    return {
      day: day + 1,
      hour,
      attention: atLeastOnce(attention[hours[at]!]!),
      // A message has at most one first engagement, however high the attention.
      engaged: atLeastOnce(value),
      allowed: allowedShare(DayOfWeek.literals[day]!, hour, permission),
    }
  })

/**
 * Whether the hours of a template's week differ by more than chance. Uses only the test of the level that contributes
 * most to the week, so that the error rate is the rate of one test.
 */
const isCertain = ({ organization, template }: Pick<TemplateLevels, "organization" | "template">): boolean =>
  (template.weight >= 0.5 ? template : organization).differs

/** Returns the hour with the highest value among the allowed hours. */
const bestOf = (hours: ReadonlyArray<SendTimeHour>, certain: boolean): TemplateSendTimes["best"] => {
  const best = hours.filter(({ allowed }) => allowed > 0)
    .reduce<SendTimeHour | undefined>((a, b) => a === undefined || b.engaged > a.engaged ? b : a, undefined)
  return best === undefined ? null : { day: best.day, hour: best.hour, engaged: best.engaged, certain }
}

const knownOf = ({ engagements, touches, weight }: Level) => ({ touches, engagements, weight })

/** The times at which the recipients of a template read their messages. A broken store is a defect. */
export class SendTimes extends Context.Service<SendTimes, {
  /**
   * Returns the reading times in a template's week. The first request of an organization waits until its people are
   * counted. After `patience` (2 seconds), the response says that the count is in progress. Fails with
   * `TemplateNotFound` for an unknown template.
   */
  readonly of: (
    org: OrgSlug,
    template: string,
    patience?: Duration.Input,
  ) => Effect.Effect<TemplateSendTimes, TemplateNotFound>
}>()("parlance/results/SendTimes") {
  static readonly layer = Layer.effect(
    SendTimes,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const groups = yield* Groups
      const organizations = yield* Organizations
      const templates = yield* Templates

      const of = Effect.fn("SendTimes.of")(
        function* (slug: OrgSlug, id: string, patience: Duration.Input = "2 seconds") {
          const template = yield* templates.outline(slug, id)
          const org = yield* Effect.orDie(organizations.get(slug))
          const known = yield* Effect.map(
            Effect.timeoutOption(groups.of(slug, org.time_zone), patience),
            Option.getOrUndefined,
          )
          const now = yield* Clock.currentTimeMillis
          const gained = yield* Effect.orDie(
            timing(sql, slug, template.id, new Date(now - lookbackDays * dayMillis), new Date(now)),
          )
          const about = {
            template_id: template.id,
            time_zone: org.time_zone,
            quiet_hours: org.quiet_hours,
            allowed_days: org.allowed_days,
            timing: gained,
          }
          if (known === undefined || known.touches === 0) {
            const basis = known === undefined ? "learning" : "default"
            return { ...about, basis, tau_hours: null, levels: [], hours: [], best: null, variants: [] } as const
          }
          const permission = permissionOf({ quietHours: org.quiet_hours, allowedDays: org.allowed_days })
          const levels = known.template(template.id, template.variants.map(({ id }) => id))
          const certain = isCertain(levels)
          const hours = weekOf(levels.template, known.tau, permission)
          return {
            ...about,
            basis: isKnown(levels.template) ? "template" : "organization",
            tau_hours: known.tau,
            levels: [
              { level: "template", ...knownOf(levels.template) },
              { level: "organization", ...knownOf(levels.organization) },
            ],
            hours,
            best: bestOf(hours, certain),
            variants: template.variants.map(({ id, name }) => {
              const level = levels.variants.get(id)!
              return {
                copy_id: id,
                name,
                ...knownOf(level),
                best: bestOf(weekOf(level, known.tau, permission), certain),
              }
            }),
          } satisfies TemplateSendTimes
        },
      )

      return SendTimes.of({ of })
    }),
  )
}
