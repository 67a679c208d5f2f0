import { readFileSync } from "node:fs"
import list from "./layouts/layouts.json" with { type: "json" }
import type { Draft } from "./VariantForm.ts"

/** A finished message to begin a variant with. `layouts/layouts.json` has the list, and MJML files next to it the bodies. */
export interface Layout {
  readonly id: string
  readonly name: string
  /** What it is for, in one phrase. */
  readonly description: string
  readonly subject: string
  readonly preheader: string
  /** MJML with Liquid. */
  readonly body: string
}

/** All layouts, in the order in which they are offered. */
export const layouts: ReadonlyArray<Layout> = list.map((layout) => ({
  ...layout,
  body: readFileSync(new URL(`./layouts/${layout.id}.mjml`, import.meta.url), "utf8"),
}))

/** Returns the layout of an id. Undefined for another text. */
export const layoutOf = (id: string | null | undefined): Layout | undefined => layouts.find((one) => one.id === id)

/** Whether a draft has no content yet. */
export const isBlank = ({ variables }: Draft): boolean => variables.every(({ source }) => source.trim() === "")

/** Returns a draft with the subject, preheader and body of a layout. Its other variables stay. */
export const withLayout = (draft: Draft, { body, preheader, subject }: Layout): Draft => {
  const parts: Draft["variables"] = [
    { name: "subject", format: "text", source: subject },
    { name: "preheader", format: "text", source: preheader },
    { name: "body", format: "mjml", source: body },
  ]
  const others = draft.variables.filter(({ name }) => parts.every((part) => part.name !== name.trim()))
  return { ...draft, variables: [...parts, ...others] }
}
