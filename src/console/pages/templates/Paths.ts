import type { OrgSlug } from "../../../domain/Ids.ts"
import { liveOf } from "../../../domain/Sandbox.ts"

// Ids of templates and variants are free text. Pages that belong to no template have `-` in their path, so that no template id hides them.

/** A sandbox has the templates of its organization. */
export const listPath = (org: OrgSlug) => `/console/o/${liveOf(org)}/templates`
export const createPath = (org: OrgSlug) => `${listPath(org)}/-/new`
export const importPath = (org: OrgSlug) => `${listPath(org)}/-/import`
export const exportPath = (org: OrgSlug) => `${listPath(org)}/-/export`

export const templatePath = (org: OrgSlug, template: string) => `${listPath(org)}/${encodeURIComponent(template)}`

export const variantPath = (org: OrgSlug, template: string, variant: string) =>
  `${templatePath(org, template)}/variants/${encodeURIComponent(variant)}`
