import type { OrgSlug } from "./Ids.ts"

// Every organization can have a sandbox for the decisions, events and messages of test keys. The sandbox has a slug of
// its own, so that no query or count by organization includes it.

/** The end of every sandbox's slug. Slugs of organizations cannot contain `~`. */
export const sandboxSuffix = "~test"

/** Whether a slug belongs to a sandbox. */
export const isSandbox = (org: string): boolean => org.endsWith(sandboxSuffix)

/** The slug of a sandbox's organization. Returns any other slug unchanged. */
export const liveOf = <Slug extends string>(org: Slug): Slug =>
  isSandbox(org) ? org.slice(0, -sandboxSuffix.length) as Slug : org

/** The slug of an organization's sandbox. Returns the slug of a sandbox unchanged. */
export const sandboxOf = (org: string): OrgSlug => `${liveOf(org)}${sandboxSuffix}` as OrgSlug
