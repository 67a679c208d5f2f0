/**
 * Returns the message of the innermost cause, usually the database's own message, without the text that libraries add.
 */
export const innermost = (error: unknown): string => {
  let message = String(error)
  for (let at: unknown = error; at instanceof Error; at = at.cause ?? ("reason" in at ? at.reason : undefined)) {
    if (at.message !== "") message = at.message
  }
  return message
}
