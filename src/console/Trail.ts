import { isSandbox } from "../domain/Sandbox.ts"
import { english, t, translated } from "../languages/Language.ts"
import { navigation, sandboxNavigation } from "./Navigation.ts"

// The way to a page: its breadcrumbs, and the tabs of the template that it belongs to.

/** A link with its text. */
export interface Crumb {
  readonly href: string
  readonly label: string
}

/** A tab of a template. */
interface Tab extends Crumb {
  readonly isCurrent: boolean
}

/**
 * The link of the sidebar that a path belongs to: the longest one that the path begins with. A path that begins only with
 * the overview belongs to the section of the page that it leads `back` to. Undefined outside organizations.
 */
export const sectionOf = (path: string, back?: string): Crumb | undefined => {
  const [base, slug = ""] = /^\/console\/o\/([^/]+)/.exec(path) ?? []
  if (base === undefined) return undefined
  return (isSandbox(slug) ? sandboxNavigation : navigation)
    .flatMap(({ links }) => links.map(({ label, path }) => ({ href: `${base}${path}`, label: translated(label) })))
    .filter(({ href }) => path === href || (href !== base && path.startsWith(`${href}/`)))
    .sort((a, b) => b.href.length - a.href.length)[0] ??
    (back === undefined ? undefined : sectionOf(back.split("?")[0]!))
}

/**
 * The pages above a page: its section of the sidebar, then the page that it leads back to. Empty for the sections
 * themselves.
 */
export const trailOf = (path: string, back: Crumb | undefined): ReadonlyArray<Crumb> => {
  const section = sectionOf(path)
  return [
    ...(section === undefined || section.href === path || section.href === back?.href.split("?")[0] ? [] : [section]),
    ...(back === undefined ? [] : [back]),
  ]
}

/** The title of a page in its breadcrumbs, without the name of the page above: `Results` for `Cart reminder · Results`. */
export const shortTitle = (title: string, back: Crumb | undefined): string =>
  back !== undefined && title.startsWith(`${back.label} · `) ? title.slice(back.label.length + 3) : title

const templatePath = /^(\/console\/o\/[^/]+\/templates\/(?!-\/)[^/]+)(?:\/([^/]+))?/

/** The tab for pages below a template, by the part of the path that follows the template's id. Others belong to Content. */
const tabByPart: Readonly<Record<string, string>> = {
  audience: english("Audience"),
  results: english("Results"),
  "send-times": english("Results"),
  comments: english("Comments"),
  history: english("History"),
  settings: english("Settings"),
  archive: english("Settings"),
  delete: english("Settings"),
}

/** The tabs of the template that a path belongs to; empty for other paths. `canEdit`: whether its settings can be opened. */
export const templateTabs = (path: string, canEdit: boolean): ReadonlyArray<Tab> => {
  const [, base, part = ""] = templatePath.exec(path) ?? []
  if (base === undefined) return []
  const current = translated(Object.hasOwn(tabByPart, part) ? tabByPart[part]! : english("Content"))
  return [
    { label: t`Content`, href: base },
    { label: t`Audience`, href: `${base}/audience` },
    { label: t`Results`, href: `${base}/results` },
    { label: t`Comments`, href: `${base}/comments` },
    { label: t`History`, href: `${base}/history` },
    ...(canEdit ? [{ label: t`Settings`, href: `${base}/settings` }] : []),
  ].map((tab) => ({ ...tab, isCurrent: tab.label === current }))
}
