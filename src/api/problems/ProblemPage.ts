/** The content of a problem's page: the event and the remedy. */
export interface ProblemPage {
  readonly slug: string
  readonly title: string
  readonly status: number
  readonly advice: string
}

const pages: Array<ProblemPage> = []

/** Every problem this service knows, in the order of their declaration. */
export const problemPages: ReadonlyArray<ProblemPage> = pages

/** Adds a problem's page, and answers the members that all its responses have. */
export const declare = <const Slug extends string, const Status extends number>(
  slug: Slug,
  status: Status,
  title: string,
  advice: string,
) => {
  pages.push({ slug, title, status, advice })
  return { type: `/problems/${slug}` as const, status, title }
}
