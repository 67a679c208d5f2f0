/** Longest part of a name that becomes an id. Unit: characters. */
const maxLength = 60

/** An id made from a name: `Cart reminder!` becomes `cart-reminder`. Empty where a name has no Latin letters or digits. */
export const idOfName = (name: string): string =>
  name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "")
    .slice(0, maxLength).replace(/-+$/, "")

/** The first of `id`, `id-2`, `id-3` and so on that is free. */
export const freeId = (id: string, isTaken: (id: string) => boolean): string => {
  let free = id
  for (let number = 2; isTaken(free); number++) free = `${id}-${number}`
  return free
}
