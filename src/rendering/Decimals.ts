import { BigDecimal } from "effect"

// Arithmetic as on paper: 1.1 + 2.2 is 3.3. The value of a double is the shortest decimal that reads as this double.
// Numbers of up to 15 digits are calculated as integers of a power of ten, whose quotient is the double nearest to the
// exact result. All others are calculated by BigDecimal, about a hundred times slower, with the same result.

/** A number. Doubles have up to 17 digits, and a `BigDecimal` any number. */
export type Decimal = number | BigDecimal.BigDecimal

const powers = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000] as const

/** Every decimal of up to 15 digits is the shortest decimal of its double. */
const exactBelow = 1e15

/** Largest integer that the fast calculation uses. The sum of two of them is exact. */
const largest = 2 ** 52

/** The number of decimal places of a short number, at most 6. -1 for other numbers. */
const placesOf = (value: number): number => {
  if (Number.isSafeInteger(value)) return 0
  for (let places = 1; places < powers.length; places++) {
    const power = powers[places]!
    const scaled = Math.round(value * power)
    if (Math.abs(scaled) >= exactBelow) return -1
    if (scaled / power === value) return places
  }
  return -1
}

/** The short number times a power of ten that makes it an integer. */
const scaled = (value: number, places: number): number => Math.round(value * powers[places]!)

const isExact = (whole: number): boolean => Math.abs(whole) <= largest

const toBig = (value: Decimal): BigDecimal.BigDecimal =>
  typeof value === "number" ? BigDecimal.fromNumberUnsafe(value) : value

/** Calculates with two integers of one scale, or with two `BigDecimal`. */
const aligned = (
  left: Decimal,
  right: Decimal,
  fast: (left: number, right: number) => number,
  slow: (left: BigDecimal.BigDecimal, right: BigDecimal.BigDecimal) => BigDecimal.BigDecimal,
): Decimal => {
  if (typeof left === "number" && typeof right === "number") {
    const leftPlaces = placesOf(left)
    const rightPlaces = placesOf(right)
    if (leftPlaces !== -1 && rightPlaces !== -1) {
      const places = Math.max(leftPlaces, rightPlaces)
      const first = scaled(left, leftPlaces) * powers[places - leftPlaces]!
      const second = scaled(right, rightPlaces) * powers[places - rightPlaces]!
      if (isExact(first) && isExact(second)) return fast(first, second) / powers[places]!
    }
  }
  return slow(toBig(left), toBig(right))
}

/** The sum. */
export const plus = (left: Decimal, right: Decimal): Decimal =>
  aligned(left, right, (first, second) => first + second, BigDecimal.sum)

/** The difference. */
export const minus = (left: Decimal, right: Decimal): Decimal =>
  aligned(left, right, (first, second) => first - second, BigDecimal.subtract)

/** The product. */
export const times = (left: Decimal, right: Decimal): Decimal => {
  if (typeof left === "number" && typeof right === "number") {
    const leftPlaces = placesOf(left)
    const rightPlaces = placesOf(right)
    if (leftPlaces !== -1 && rightPlaces !== -1) {
      const product = scaled(left, leftPlaces) * scaled(right, rightPlaces)
      if (isExact(product)) return product / (powers[leftPlaces]! * powers[rightPlaces]!)
    }
  }
  return BigDecimal.multiply(toBig(left), toBig(right))
}

/** The quotient, with up to 100 digits. The divisor is not 0. */
export const dividedBy = (left: Decimal, right: Decimal): Decimal => {
  if (typeof left === "number" && typeof right === "number") {
    const leftPlaces = placesOf(left)
    const rightPlaces = placesOf(right)
    if (leftPlaces !== -1 && rightPlaces !== -1) {
      const first = scaled(left, leftPlaces) * powers[rightPlaces]!
      const second = scaled(right, rightPlaces) * powers[leftPlaces]!
      if (isExact(first) && isExact(second)) return first / second
    }
  }
  return BigDecimal.divideUnsafe(toBig(left), toBig(right))
}

/** The remainder, with the sign of the divisor. The divisor is not 0. */
export const modulo = (left: Decimal, right: Decimal): Decimal =>
  aligned(left, right, (first, second) => ((first % second) + second) % second, (first, second) => {
    const rest = BigDecimal.remainderUnsafe(first, second)
    return BigDecimal.sign(rest) * BigDecimal.sign(second) === -1 ? BigDecimal.sum(rest, second) : rest
  })

/** Negative, zero or positive if `left` is less than, equal to or greater than `right`. */
export const compare = (left: Decimal, right: Decimal): number =>
  typeof left === "number" && typeof right === "number" ? left - right : BigDecimal.Order(toBig(left), toBig(right))

/** Whether the number is 0. */
export const isZero = (value: Decimal): boolean => typeof value === "number" ? value === 0 : BigDecimal.isZero(value)

/** The number without its sign. */
export const abs = (value: Decimal): Decimal => typeof value === "number" ? Math.abs(value) : BigDecimal.abs(value)

/** The largest integer up to the number. */
export const floor = (value: Decimal): Decimal =>
  typeof value === "number" ? Math.floor(value) : BigDecimal.floor(value)

/** The smallest integer from the number on. */
export const ceil = (value: Decimal): Decimal => typeof value === "number" ? Math.ceil(value) : BigDecimal.ceil(value)

/** The integer towards zero. */
export const truncate = (value: Decimal): Decimal =>
  typeof value === "number" ? Math.trunc(value) : BigDecimal.truncate(value)

/** Rounds half away from zero, to `places` decimals. Negative `places` round to tens, hundreds and so on. */
export const round = (value: Decimal, places: number): Decimal => {
  if (typeof value === "number") {
    const own = placesOf(value)
    if (own !== -1 && own <= places) return value
    if (own !== -1 && places >= 0) {
      const dropped = powers[own - places]!
      const whole = Math.abs(scaled(value, own)) + dropped / 2
      return Math.sign(value) * ((whole - whole % dropped) / dropped) / powers[places]!
    }
  }
  return BigDecimal.round(toBig(value), { scale: places })
}

const digitsOf = (value: BigDecimal.BigDecimal): string => {
  const { scale, value: whole } = BigDecimal.normalize(value)
  const digits = String(whole < 0n ? -whole : whole)
  const padded = scale > 0 ? digits.padStart(scale + 1, "0") : digits.padEnd(digits.length - scale, "0")
  const point = padded.length - Math.max(scale, 0)
  return `${whole < 0n ? "-" : ""}${padded.slice(0, point)}${scale > 0 ? `.${padded.slice(point)}` : ""}`
}

/** All digits of a number, without an exponent. */
export const write = (value: Decimal): string => {
  if (typeof value !== "number") return digitsOf(value)
  const size = Math.abs(value)
  return size >= 1e21 || (size < 1e-6 && size > 0) ? digitsOf(BigDecimal.fromNumberUnsafe(value)) : String(value)
}

/** Reads digits with a point and an exponent of up to three digits. Undefined for a number beyond the doubles. */
export const read = (text: string): Decimal | undefined => {
  const value = Number(text)
  if (!Number.isFinite(value)) return undefined
  // Every text of up to 15 characters has up to 15 digits.
  return text.length <= 15 || String(value) === text ? value : BigDecimal.fromStringUnsafe(text)
}

/** The double nearest to a number. Infinite for a number beyond the doubles. */
export const toNumber = (value: Decimal): number => typeof value === "number" ? value : BigDecimal.toNumberUnsafe(value)

/** Number of decimals of a value beyond 2^53 - 1. */
const largeDecimals = 6

/**
 * The value that templates see: a double, or beyond 2^53 - 1 a text with the digits that a double would change, as for
 * integers in JSON. Undefined for a number beyond the doubles.
 */
export const toValue = (value: Decimal): number | string | undefined => {
  const nearest = toNumber(value)
  if (!Number.isFinite(nearest)) return undefined
  return typeof value === "number" || Math.abs(nearest) <= Number.MAX_SAFE_INTEGER
    ? nearest
    : digitsOf(BigDecimal.round(value, { scale: largeDecimals }))
}
