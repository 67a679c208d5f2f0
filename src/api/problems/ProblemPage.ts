/** The content of a problem's page. `advice` is the remedy. */
export interface ProblemPage {
  readonly slug: string
  readonly title: string
  readonly status: number
  readonly advice: string
}

const pages: Array<ProblemPage> = []

/** The pages of all declared problems, in the order of declaration. */
export const problemPages: ReadonlyArray<ProblemPage> = pages

/** Adds the page of a problem. Returns the members that all responses of the problem have. */
export const declare = <const Slug extends string, const Status extends number>(
  slug: Slug,
  status: Status,
  title: string,
  advice: string,
) => {
  pages.push({ slug, title, status, advice })
  return { type: `/problems/${slug}` as const, status, title }
}
