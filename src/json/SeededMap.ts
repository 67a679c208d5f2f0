import { Buffer } from "node:buffer"
import { createHmac, getRandomValues, randomBytes } from "node:crypto"

// Multilinear hashing (Lemire and Kaser, "Strongly universal string hashing is fast", 2014): the sum of all characters,
// each multiplied by a random number of its place. The upper half of such a sum is the same for two different texts
// with a probability of 2^-17, whoever chose them. Two sums make up a hash of 31 bits.

/** Longer texts are hashed by HMAC, which takes 2 µs or more. */
const maxSummed = 512

const factors = getRandomValues(new Int32Array(2 * maxSummed + 6))
const secret = randomBytes(32)
const numbers = new Float64Array(1)
const halves = new Uint16Array(numbers.buffer)

const joined = (first: number, second: number): number => (first >>> 15) * 2 ** 14 + (second >>> 18)

const hashOfText = (text: string): number => {
  if (text.length > maxSummed) {
    // As UTF-16, in which two texts with different lone surrogates differ.
    return createHmac("sha256", secret).update(Buffer.from(text, "utf16le")).digest().readUInt32LE() >>> 1
  }
  let first = Math.imul(text.length, factors[0]!)
  let second = Math.imul(text.length, factors[1]!)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    first = first + Math.imul(code, factors[2 * i + 2]!) | 0
    second = second + Math.imul(code, factors[2 * i + 3]!) | 0
  }
  return joined(first, second)
}

const hashOfNumber = (number: number): number => {
  numbers[0] = number
  let first = 0
  let second = 0
  for (let i = 0; i < 4; i++) {
    first = first + Math.imul(halves[i]!, factors[2 * i]!) | 0
    second = second + Math.imul(halves[i]!, factors[2 * i + 1]!) | 0
  }
  return joined(first, second)
}

interface Entry<K, V> {
  readonly key: K
  value: V
  /** Another entry whose key has the same hash. */
  next: Entry<K, V> | undefined
}

/**
 * A `Map` from texts or numbers whose time does not depend on who chose them. V8's `Map` hashes numbers and
 * integer-like texts by their value, and other texts with a seed that is part of Deno's executable file: 20,000 chosen
 * texts take 18 s to add.
 *
 * An access takes the time of a `Map` and 1 ns for each character. Iterates in the order of insertion, except for keys
 * with equal hashes (two keys have equal hashes with a probability of 2^-31). Use it wherever one caller can choose
 * thousands of keys.
 */
export class SeededMap<K extends string | number, V> {
  readonly #entries = new Map<number, Entry<K, V>>()
  readonly #hash: (key: K) => number
  #size = 0

  /** `hash` is for tests. */
  constructor(entries: Iterable<readonly [K, V]> = [], hash: (key: K) => number = hashOf) {
    this.#hash = hash
    for (const [key, value] of entries) this.set(key, value)
  }

  get size(): number {
    return this.#size
  }

  get(key: K): V | undefined {
    return find(this.#entries.get(this.#hash(key)), key)?.value
  }

  has(key: K): boolean {
    return find(this.#entries.get(this.#hash(key)), key) !== undefined
  }

  set(key: K, value: V): this {
    const hash = this.#hash(key)
    const first = this.#entries.get(hash)
    const entry = find(first, key)
    if (entry !== undefined) {
      entry.value = value
      return this
    }
    this.#size++
    const added = { key: key === 0 ? 0 as K : key, value, next: undefined }
    if (first === undefined) this.#entries.set(hash, added)
    else lastOf(first).next = added
    return this
  }

  /** Returns the value of a key. Without one, stores and returns the value of `compute`. */
  getOrInsertComputed(key: K, compute: () => V): V {
    const entry = find(this.#entries.get(this.#hash(key)), key)
    if (entry !== undefined) return entry.value
    const value = compute()
    this.set(key, value)
    return value
  }

  delete(key: K): boolean {
    const hash = this.#hash(key)
    const first = this.#entries.get(hash)
    if (find(first, key) === undefined) return false
    this.#size--
    let left: Entry<K, V> | undefined
    for (let entry = first; entry !== undefined; entry = entry.next) {
      if (!isSame(entry.key, key)) left = { key: entry.key, value: entry.value, next: left }
    }
    if (left === undefined) this.#entries.delete(hash)
    else this.#entries.set(hash, left)
    return true
  }

  clear(): void {
    this.#entries.clear()
    this.#size = 0
  }

  *[Symbol.iterator](): Generator<[K, V]> {
    for (const first of this.#entries.values()) {
      for (let entry: Entry<K, V> | undefined = first; entry !== undefined; entry = entry.next) {
        yield [entry.key, entry.value]
      }
    }
  }

  *keys(): Generator<K> {
    for (const first of this.#entries.values()) {
      for (let entry: Entry<K, V> | undefined = first; entry !== undefined; entry = entry.next) yield entry.key
    }
  }

  *values(): Generator<V> {
    for (const first of this.#entries.values()) {
      for (let entry: Entry<K, V> | undefined = first; entry !== undefined; entry = entry.next) yield entry.value
    }
  }
}

/** A `Set` of texts or numbers with the hash of `SeededMap`. */
export class SeededSet<K extends string | number> {
  readonly #keys: SeededMap<K, true>

  constructor(keys: Iterable<K> = []) {
    this.#keys = new SeededMap()
    for (const key of keys) this.add(key)
  }

  get size(): number {
    return this.#keys.size
  }

  has(key: K): boolean {
    return this.#keys.has(key)
  }

  add(key: K): this {
    this.#keys.set(key, true)
    return this
  }

  [Symbol.iterator](): Generator<K> {
    return this.#keys.keys()
  }
}

const hashOf = (key: string | number): number =>
  typeof key === "string" ? hashOfText(key) : hashOfNumber(key === 0 ? 0 : key) // also for -0

/** Whether two keys are equal for a `Map`. */
const isSame = (one: string | number, other: string | number): boolean =>
  one === other || (Number.isNaN(one) && Number.isNaN(other))

const find = <K extends string | number, V>(first: Entry<K, V> | undefined, key: K): Entry<K, V> | undefined => {
  let entry = first
  while (entry !== undefined && !isSame(entry.key, key)) entry = entry.next
  return entry
}

const lastOf = <K, V>(first: Entry<K, V>): Entry<K, V> => {
  let entry = first
  while (entry.next !== undefined) entry = entry.next
  return entry
}
