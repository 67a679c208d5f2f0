import type { ListFilter, ListShape } from "../../domain/List.ts"
import { english, t } from "../../languages/Language.ts"
import { objectiveText } from "../../results/ObjectiveText.ts"
import type { IndexedTemplate } from "../../templates/TemplateIndex.ts"

/** A winning variant, with the time of the verdict. */
interface ListedWinner {
  readonly copyId: string
  readonly name: string
  readonly since: string
}

/** A template of the list, with its problems, winner, owner and traffic. */
export interface ListedTemplate extends IndexedTemplate {
  /** Active variants that are in season. */
  readonly inSeason: number
  /** Deliveries that failed in the last 24 hours. */
  readonly failed: number
  /** Requests of the last 24 hours that repeated a tracking id for another person or message. */
  readonly repeatedIds: number
  /** Requests of the last 24 hours with an unfilled placeholder. */
  readonly unfilled: number
  /** Ids of variants that cannot be rendered. */
  readonly failing: ReadonlyArray<string>
  /** The winner among the active variants that are in season. Null if the verdict names no winner. */
  readonly winner: ListedWinner | null
  /** Days of data behind the current model. 0 before the first send. */
  readonly testedDays: number
  /** The owner's name. Null without an owner, or if the owner is no longer a member. */
  readonly ownerName: string | null
  /** Decisions of each of the last days, oldest first. */
  readonly days: ReadonlyArray<number>
}

/** The states of a template, in sort order. */
export const templateStates = ["active", "out-of-season", "inactive", "no-variants", "archived"] as const
type TemplateState = typeof templateStates[number]

/** Returns the state of a template. `out-of-season`: it has active variants, but no active variant is in season. */
export const stateOf = (
  { active, archivedAt, inSeason, variants }: Pick<ListedTemplate, "active" | "archivedAt" | "inSeason" | "variants">,
): TemplateState =>
  archivedAt !== null
    ? "archived"
    : variants === 0
    ? "no-variants"
    : active === 0
    ? "inactive"
    : inSeason === 0
    ? "out-of-season"
    : "active"

const goalNames: Readonly<Record<string, string>> = {
  click: english("clicks"),
  open: english("opens"),
  conversion: english("conversions"),
}

/** Returns the goal for filters. All mixes have the goal `mix`. */
const goalOf = ({ objective }: IndexedTemplate): string => typeof objective === "string" ? objective : "mix"

/** Values of the owner filter, in addition to addresses. */
const ownerWords = { none: "none", left: "left" } as const

const ownerMatches = ({ owner, ownerName }: ListedTemplate, value: string): boolean =>
  value === ownerWords.none
    ? owner === null
    : value === ownerWords.left
    ? owner !== null && ownerName === null
    : owner === value

/** The kinds of problems of templates, with their labels. */
const problemNames = {
  variants: english("variants that cannot be rendered"),
  deliveries: english("failed messages"),
  "tracking-ids": english("repeated tracking ids"),
  placeholders: english("placeholders that nobody filled in"),
} as const
/** A kind of problem of a template. */
export type ProblemKind = keyof typeof problemNames
/** All kinds of problems, in the order of the filter. */
export const problemKinds = Object.keys(problemNames) as ReadonlyArray<ProblemKind>

/** Returns the number of problems by kind. */
const problemsOf = (template: ListedTemplate): Readonly<Record<ProblemKind, number>> => ({
  variants: template.failing.length,
  deliveries: template.failed,
  "tracking-ids": template.repeatedIds,
  placeholders: template.unfilled,
})

const sum = (days: ReadonlyArray<number>) => days.reduce((total, count) => total + count, 0)

const byText = (a: readonly [string, string], b: readonly [string, string]) => a[1].localeCompare(b[1], "en")

/**
 * Returns the options of the owner filter: members by name, no owner, and former members. Empty if no template has an
 * owner.
 */
const ownerOptions = (rows: ReadonlyArray<ListedTemplate>): ListFilter<ListedTemplate>["options"] => {
  const members = new Map(
    rows.flatMap(({ owner, ownerName }) => owner !== null && ownerName !== null ? [[owner, ownerName]] : []),
  )
  const hasLeft = rows.some((row) => ownerMatches(row, ownerWords.left))
  return members.size === 0 && !hasLeft ? [] : [
    ...[...members].sort(byText),
    [ownerWords.none, english("no owner")],
    ...hasLeft ? [[ownerWords.left, english("has left")] as const] : [],
  ]
}

/**
 * Returns the shape of the template list. `dayCount` is the number of days with counted decisions. `rows` provides the
 * tags and owners that filters offer.
 */
export const templateShape = (
  dayCount: number,
  rows: ReadonlyArray<ListedTemplate>,
): ListShape<ListedTemplate> => ({
  idOf: ({ id }) => id,
  textsOf: ({ id, name, tags }) => [name, id, ...tags],
  filters: {
    state: {
      label: english("State"),
      options: [
        ["active", english("active")],
        ["inactive", english("no active variant")],
        ["no-variants", english("no variants")],
        ["out-of-season", english("out of season")],
      ],
      matches: (template, state) => stateOf(template) === state,
    },
    goal: {
      label: english("Goal"),
      options: [...Object.entries(goalNames), ["mix", english("a mix or revenue")]],
      matches: (template, goal) => goalOf(template) === goal,
    },
    winner: {
      label: english("Winner"),
      options: [["found", english("found")], ["none", english("not yet")]],
      matches: ({ winner }, value) => (winner !== null) === (value === "found"),
    },
    failing: {
      label: english("Problems"),
      options: Object.entries(problemNames),
      matches: (template, value) => problemsOf(template)[value as ProblemKind] > 0,
    },
    tag: {
      label: english("Tag"),
      options: [...new Set(rows.flatMap(({ tags }) => tags))].map((tag) => [tag, tag] as const).sort(byText),
      matches: ({ tags }, tag) => tags.includes(tag),
    },
    owner: { label: english("Owner"), options: ownerOptions(rows), matches: ownerMatches },
  },
  sorts: {
    name: { label: english("Template"), descending: false, valueOf: ({ name }) => name },
    id: { label: english("Id"), descending: false, valueOf: ({ id }) => id },
    state: {
      label: english("State"),
      descending: false,
      valueOf: (template) => templateStates.indexOf(stateOf(template)),
    },
    decisions: { label: t`Sends, ${dayCount} days`, descending: true, valueOf: ({ days }) => sum(days) },
    goal: { label: english("Goal"), descending: false, valueOf: ({ objective }) => objectiveText(objective) },
    winner: {
      label: english("Winner"),
      descending: true,
      valueOf: ({ winner }) => winner === null ? null : Date.parse(winner.since),
    },
    failing: {
      label: english("Problems"),
      descending: true,
      valueOf: ({ failed, failing, repeatedIds, unfilled }) =>
        failing.length * 1e9 + failed + repeatedIds + unfilled || null,
    },
    tag: { label: english("Tags"), descending: false, valueOf: ({ tags }) => tags[0] ?? null },
    owner: { label: english("Owner"), descending: false, valueOf: ({ owner, ownerName }) => ownerName ?? owner },
    changed: { label: english("Changed"), descending: true, valueOf: ({ updatedAt }) => Date.parse(updatedAt) },
  },
  sort: "name",
})
