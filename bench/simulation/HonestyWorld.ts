import { exposureClass } from "../../src/bandit/Fatigue.ts"
import { type Failing, withFailures } from "./FailingVariants.ts"
import { type Values, withValues } from "./ConversionValues.ts"
import {
  absent,
  armIds,
  type AttributePlan,
  makeWorld,
  type World,
  type WorldPlan,
} from "../../src/simulation/World.ts"

// Worlds with known true rates, which check results.

/** A world of variants with known true rates. */
export interface HonestyWorld {
  readonly name: string
  readonly variants: number
  readonly decisionsPerDay: number
  readonly days: number
  /** Click rate of an average variant, 0 to 1. */
  readonly rate: number
  /** Standard deviation of the variants' log rates; 0 for identical variants. */
  readonly sd: number
  /** Relative lift of the first variant over the others, instead of `sd`. */
  readonly lift?: number
  /**
   * Standard deviation of each variant's effects by the value of an attribute with three values. Absent: no attribute.
   */
  readonly segmentSd?: number
  /**
   * Values of conversions. If present, the outcomes are conversions and the objective is revenue. Absent: the outcomes
   * are clicks.
   */
  readonly values?: Values
  /** People who tire of the variants that they have seen. Absent: decisions have no people. */
  readonly fatigue?: Tiring
  /** Variants that cannot be rendered for a part of the people. Absent: all variants can be rendered. */
  readonly failing?: Failing
  /** People of whom some get much mail. Absent: decisions have no people. Variants differ only by `lift`. */
  readonly crowd?: MailCrowd
  /** How rates change from day to day. Absent: they are constant. */
  readonly moves?: Moves
  /** Another attribute in place of the one of `segmentSd`. */
  readonly attribute?: AttributeEffects
  /** Effect on the log rate of the first variant for the first value of the attribute, of the second for the second, and so on. */
  readonly fans?: number
  /** Log-normal delay of outcomes. Default: a median of 5 hours and a standard deviation of 1.6 of the log. */
  readonly delay?: { readonly medianHours: number; readonly sigma: number }
}

/** An attribute of people, and how rates depend on it. */
export interface AttributeEffects extends AttributePlan {
  /** By value: its effect on the log rates of all variants. Default: 0. */
  readonly logs?: ReadonlyArray<number>
  /** Standard deviation of each variant's effects on its log rate. */
  readonly sd: number
  /** By value: its effect on a variant whose factor is 1. Default: each value has a random effect of its own. */
  readonly curve?: ReadonlyArray<number>
}

/** Changes of log rates over the days of a world. */
export interface Moves {
  /** Standard deviation of the daily step of each variant's log rate. Default: 0. */
  readonly walk?: number
  /** Change of the log rate of the best variant from this day on, counted from 0. */
  readonly fall?: { readonly day: number; readonly log: number }
  /** Change of the log rates of all variants from this day on. */
  readonly rise?: { readonly day: number; readonly log: number }
}

/** People of whom some get 100 times as many messages and have different tastes. */
export interface MailCrowd {
  readonly people: number
  /** Share of the mail that these heavy users get. */
  readonly heavy: number
  /**
   * Standard deviation of the log rates of heavy users, common to all variants. Their mean rates equal the rates of
   * other people.
   */
  readonly keenness: number
  /** Standard deviation of the log rates of heavy users, separate for each variant. */
  readonly taste: number
  /** Whether one person is the only heavy user. Default: false. */
  readonly isSingle?: boolean
}

/** Number of messages of a heavy user for each message of another person. */
const heavyMail = 100

/** People who tire of the variants that they have seen. A fifth of them get ten times as many messages. */
export interface Tiring {
  readonly people: number
  /** Change of the log rate by class of exposure (`exposureClass`). */
  readonly effects: ReadonlyArray<number>
}

const usualDelay = { medianHours: 5, sigma: 1.6 }

const tier: AttributePlan = { name: "tier", values: [["free", 0.6], ["pro", 0.3], ["team", 0.1]] }

/** The attribute of a setting. Undefined without one. */
export const attributeOf = ({ attribute, segmentSd }: HonestyWorld): AttributeEffects | undefined =>
  attribute ?? (segmentSd === undefined ? undefined : { ...tier, sd: segmentSd })

/** People whose plan is known less often the less they respond: they respond half as often as people with a known one. */
export const hiddenPlans: AttributeEffects = {
  name: "tier",
  values: [["free", 0.3], [absent, 0.3], ["pro", 0.3], [absent, 0.1]],
  logs: [0, -0.7, 0, -0.7],
  sd: 0.3,
}

const ages = Array.from({ length: 63 }, (_, i) => i + 18)

/** Ages whose effect is the same at both ends, and the opposite in the middle. */
export const curvedAges: AttributeEffects = {
  name: "age",
  values: ages.map((age) => [`${age}`, 1] as const),
  sd: 0.5,
  // A parabola with mean 0 and standard deviation 1.
  curve: ages.map((age) => ((age - 49) ** 2 - 330.67) / 295.7),
}

const crowdOf = (
  { heavy, isSingle = false, keenness, people, taste }: MailCrowd,
  variants: number,
): Pick<WorldPlan, "people" | "person"> => {
  // The number of people that yields this share of the mail for heavy users.
  const share = heavy / (heavy + heavyMail * (1 - heavy))
  let isFirst = true
  return {
    people,
    person: ({ normal, uniform }) => {
      const isHeavy = isSingle ? isFirst : uniform() < share
      isFirst = false
      const draw = (sd: number) => isHeavy ? sd * normal() - sd ** 2 / 2 : 0
      return {
        share: !isHeavy ? 1 : isSingle ? (people - 1) * heavy / (1 - heavy) : heavyMail,
        log: draw(keenness),
        tastes: Array.from({ length: variants }, () => draw(taste)),
      }
    },
  }
}

const peopleOf = ({ crowd, fatigue, variants }: HonestyWorld): Pick<WorldPlan, "people" | "person" | "tire"> =>
  crowd !== undefined ? crowdOf(crowd, variants) : fatigue === undefined ? {} : {
    people: fatigue.people,
    person: ({ uniform }) => ({ share: uniform() < 0.2 ? 10 : 1, log: 0 }),
    tire: (seen) => fatigue.effects[exposureClass(seen)]!,
  }

/**
 * Returns the rates in the whole population of a crowd, which results estimate. Undefined with a single heavy user, who is a
 * part of the audience.
 */
export const audienceRates = ({ crowd, lift = 0, rate, variants }: HonestyWorld): Float64Array | undefined =>
  crowd === undefined || crowd.isSingle === true
    ? undefined
    : Float64Array.from({ length: variants }, (_, arm) => arm === 0 ? rate * (1 + lift) : rate)

/** Returns the changes of the log rates by day and variant. */
const movesOf = (
  { days, moves = {} }: HonestyWorld,
  effects: ReadonlyArray<number>,
  normal: () => number,
): ReadonlyArray<ReadonlyArray<number>> => {
  const { fall, rise, walk = 0 } = moves
  const best = effects.indexOf(Math.max(...effects))
  const walked = effects.map(() => 0)
  return Array.from({ length: Math.ceil(days) }, (_, day) =>
    effects.map((_, arm) => {
      if (walk > 0 && day > 0) walked[arm]! += walk * normal()
      return walked[arm]! + (fall !== undefined && arm === best && day >= fall.day ? fall.log : 0) +
        (rise !== undefined && day >= rise.day ? rise.log : 0)
    }))
}

/** Creates the world of a setting. A seed always creates the same world. */
export const honestyWorld = (setting: HonestyWorld, seed: number): World => {
  const attribute = attributeOf(setting)
  const world = makeWorld({
    name: setting.name,
    seed,
    days: setting.days,
    sends: setting.days * setting.decisionsPerDay,
    arms: armIds(setting.variants),
    attributes: attribute === undefined ? [] : [attribute],
    delay: setting.delay ?? usualDelay,
    ...peopleOf(setting),
    logRates: ({ normal }) => {
      const effects = Array.from(
        { length: setting.variants },
        (_, arm) => setting.lift === undefined ? setting.sd * normal() : arm === 0 ? Math.log1p(setting.lift) : 0,
      )
      const values = attribute?.values.length ?? 3
      const bySegment = Array.from({ length: setting.variants * values }, () => (attribute?.sd ?? 0) * normal())
      const effectOf = (value: number, arm: number) =>
        attribute?.curve === undefined
          ? bySegment[values * arm + value]!
          : bySegment[values * arm]! * attribute.curve[value]!
      const byDay = movesOf(setting, effects, normal)
      return {
        byValues: ([value = 0], arm) =>
          Math.log(setting.rate) + effects[arm]! + (attribute?.logs?.[value] ?? 0) + effectOf(value, arm) +
          (value === arm ? setting.fans ?? 0 : 0),
        byDay: (day, arm) => byDay[day]![arm]!,
      }
    },
  })
  const { values } = setting
  const valued = values === undefined ? world : withValues(world, values, seed)
  return setting.failing === undefined ? valued : withFailures(valued, setting.failing, seed)
}
