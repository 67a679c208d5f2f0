/** The elements of MJML, as the package defines them. */
export const components: ReadonlyArray<{
  readonly getTagName: () => string
  readonly defaultAttributes?: Readonly<Record<string, string>>
}>
