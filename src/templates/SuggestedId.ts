/** Maximum length of an id derived from a name. Unit: characters. */
const maxLength = 60

/**
 * Derives an id from a name: `Cart reminder!` becomes `cart-reminder`. Empty for a name without Latin letters or
 * digits.
 */
export const idOfName = (name: string): string =>
  name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "")
    .slice(0, maxLength).replace(/-+$/, "")

/** Returns the first of `id`, `id-2`, `id-3` and so on that is not taken. */
export const freeId = (id: string, isTaken: (id: string) => boolean): string => {
  let free = id
  for (let number = 2; isTaken(free); number++) free = `${id}-${number}`
  return free
}
