/** A finding of MJML about an element or its attributes. */
export interface MjmlError {
  /** Line of the element's opening tag, from 1. */
  readonly line: number
  readonly message: string
  readonly tagName: string
}

/** Compiles a source without Liquid. Throws if the source has no body. */
export const render: (source: string) => { readonly html: string; readonly errors: ReadonlyArray<MjmlError> }

/** Elements whose content is kept as it is, such as `mj-text`. */
export const endingTags: ReadonlyArray<string>

/** Elements that may contain `mj-raw`. */
export const rawParents: ReadonlyArray<string>

/** Types of attributes by element, such as `unit(px,%)`. */
export const attributeTypes: Readonly<Record<string, Readonly<Record<string, string>>>>
