import type { OrgSlug } from "./Ids.ts"

// Every organization may have a sandbox: the place of all decisions, events and messages that test keys cause. It is keyed as
// an organization of its own, so that whatever is read, counted or learned by organization does not see it.

/** Ends the slug of every sandbox. No organization has such a slug: `~` is not allowed there. */
export const sandboxSuffix = "~test"

/** Whether a slug is that of a sandbox. */
export const isSandbox = (org: string): boolean => org.endsWith(sandboxSuffix)

/** The organization of a sandbox; any other slug stays what it is. */
export const liveOf = <Slug extends string>(org: Slug): Slug =>
  isSandbox(org) ? org.slice(0, -sandboxSuffix.length) as Slug : org

/** The slug of an organization's sandbox; that of a sandbox stays what it is. */
export const sandboxOf = (org: string): OrgSlug => `${liveOf(org)}${sandboxSuffix}` as OrgSlug
