import { objectiveText } from "../../results/ObjectiveText.ts"
import type { IndexedTemplate } from "../../templates/TemplateIndex.ts"
import type { ListShape } from "../../domain/List.ts"

/** A template of the list with what is known of it elsewhere. */
export interface ListedTemplate extends IndexedTemplate {
  /** Active variants that are in season. */
  readonly inSeason: number
  /** Deliveries that failed in the last 24 hours. */
  readonly failed: number
  /** Decisions of each of the last days, oldest first. */
  readonly days: ReadonlyArray<number>
}

/** How a template is served. */
export type TemplateState = "archived" | "no-variants" | "inactive" | "out-of-season" | "active"

export const stateOf = ({ active, archivedAt, inSeason, variants }: ListedTemplate): TemplateState =>
  archivedAt !== null
    ? "archived"
    : variants === 0
    ? "no-variants"
    : active === 0
    ? "inactive"
    : inSeason === 0
    ? "out-of-season"
    : "active"

const goalNames: Readonly<Record<string, string>> = { click: "clicks", open: "opens", conversion: "conversions" }

/** A goal by which templates are filtered: mixes are one. */
const goalOf = ({ objective }: IndexedTemplate): string => typeof objective === "string" ? objective : "mix"

const sum = (days: ReadonlyArray<number>) => days.reduce((total, count) => total + count, 0)

/** The list of templates. `dayCount`: the days that decisions are counted for. */
export const templateShape = (dayCount: number): ListShape<ListedTemplate> => ({
  idOf: ({ id }) => id,
  textsOf: ({ id, name }) => [name, id],
  filters: {
    state: {
      label: "State",
      options: [
        ["active", "active"],
        ["inactive", "no active variant"],
        ["no-variants", "no variants"],
        ["out-of-season", "out of season"],
        ["failing", "with failed deliveries"],
      ],
      matches: (template, state) => state === "failing" ? template.failed > 0 : stateOf(template) === state,
    },
    goal: {
      label: "Goal",
      options: [...Object.entries(goalNames), ["mix", "a mix or revenue"]],
      matches: (template, goal) => goalOf(template) === goal,
    },
  },
  sorts: {
    name: { label: "Template", descending: false, valueOf: ({ name }) => name },
    decisions: { label: `Decisions, ${dayCount} days`, descending: true, valueOf: ({ days }) => sum(days) },
    goal: { label: "Goal", descending: false, valueOf: ({ objective }) => objectiveText(objective) },
    changed: { label: "Changed", descending: true, valueOf: ({ updatedAt }) => Date.parse(updatedAt) },
  },
  sort: "name",
})
