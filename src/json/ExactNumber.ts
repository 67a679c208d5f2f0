/**
 * The value of a decimal number in JSON or Liquid. An integer beyond 2^53 - 1, also with zeros after a point, becomes a
 * string of its digits, because a double would change it and it is probably an id: see decision 0126.
 */
export const exactNumber = (text: string): number | string => {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : /^(-?[1-9]\d*)(?:\.0+)?$/.exec(text)?.[1] ?? value
}
