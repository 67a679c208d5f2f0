import type { OrgSlug } from "../../../domain/Ids.ts"
import { liveOf } from "../../../domain/Sandbox.ts"

// Ids of templates and variants are free text. Pages that belong to no template have `-` in their path, so that no template id hides them.

/** A sandbox has the templates of its organization. */
export const listPath = (org: OrgSlug) => `/console/o/${liveOf(org)}/templates`
/** Path of the form for a new template. */
export const createPath = (org: OrgSlug) => `${listPath(org)}/-/new`
/** Path of the import of template files. */
export const importPath = (org: OrgSlug) => `${listPath(org)}/-/import`
/** Path of the export of all templates. */
export const exportPath = (org: OrgSlug) => `${listPath(org)}/-/export`

/** Path of a template. */
export const templatePath = (org: OrgSlug, template: string) => `${listPath(org)}/${encodeURIComponent(template)}`

/** Path of a variant. */
export const variantPath = (org: OrgSlug, template: string, variant: string) =>
  `${templatePath(org, template)}/variants/${encodeURIComponent(variant)}`
