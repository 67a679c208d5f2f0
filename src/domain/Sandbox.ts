import type { OrgSlug } from "./Ids.ts"

// Every organization can have a sandbox for the decisions, events and messages caused by test keys. It has an
// organization key of its own, so that no query or count by organization includes it.

/** Ends the slug of every sandbox. No organization has such a slug: `~` is not allowed there. */
export const sandboxSuffix = "~test"

/** Whether a slug belongs to a sandbox. */
export const isSandbox = (org: string): boolean => org.endsWith(sandboxSuffix)

/** The organization of a sandbox; other slugs are returned unchanged. */
export const liveOf = <Slug extends string>(org: Slug): Slug =>
  isSandbox(org) ? org.slice(0, -sandboxSuffix.length) as Slug : org

/** The slug of an organization's sandbox; the slug of a sandbox is returned unchanged. */
export const sandboxOf = (org: string): OrgSlug => `${liveOf(org)}${sandboxSuffix}` as OrgSlug
