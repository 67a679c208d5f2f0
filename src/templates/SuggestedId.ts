/** Maximum length of an id derived from a name. Unit: characters. */
const maxLength = 60

/** Latin letters that Unicode does not compose of a letter and a mark. */
const letters: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  ł: "l",
  đ: "d",
  ð: "d",
  þ: "th",
  ı: "i",
}

/**
 * Derives an id from a name: `Cart reminder!` becomes `cart-reminder`. Empty for a name without Latin letters, unless the name
 * consists of digits: digits alone would not describe a name in another script.
 */
export const idOfName = (name: string): string => {
  const plain = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(
    /[ßæœøłđðþı]/g,
    (one) => letters[one]!,
  )
  return !/[a-z]/.test(plain) && /[\p{L}\p{Extended_Pictographic}]/u.test(plain)
    ? ""
    : plain.replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, maxLength).replace(/-+$/, "")
}

/** Returns the first of `id`, `id-2`, `id-3` and so on that is not taken. */
export const freeId = (id: string, isTaken: (id: string) => boolean): string => {
  let free = id
  for (let number = 2; isTaken(free); number++) free = `${id}-${number}`
  return free
}
