/** The message of the innermost cause, which is the database's own, without the words of libraries. */
export const innermost = (error: unknown): string => {
  let message = String(error)
  for (let at: unknown = error; at instanceof Error; at = at.cause ?? ("reason" in at ? at.reason : undefined)) {
    if (at.message !== "") message = at.message
  }
  return message
}
