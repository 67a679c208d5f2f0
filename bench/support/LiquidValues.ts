// Values that make Liquid slow, by kind. Each function returns a field of about `size` characters or elements, another
// field of its kind that is as equal as possible, and a part of the field that is slow to search for.

type Values = readonly [a: unknown, b: unknown, c: unknown]
type Make = (size: number) => Values | readonly [undefined, undefined, undefined]

const none = [undefined, undefined, undefined] as const

const text = (unit: string): Make => (size) => {
  const a = unit.repeat(Math.ceil(size / unit.length))
  const half = a.slice(0, a.length / 2)
  return [a, `${a.slice(0, -1)}~`, `${half.slice(0, half.length / 2)}~${half.slice(half.length / 2)}`]
}

export const texts: Readonly<Record<string, Make>> = {
  "letters": text("a"),
  "accents": text("é-"),
  "CJK": text("字 "),
  "pairs": text("😀"),
  "spaces": text(" "),
  "words": text("x "),
  "lines": text("\r\n"),
  "quotes": text('"'),
  "markup": text("<a>"),
  "open markup": text("<script<style<!--"),
  "entities": text("&amp;&"),
  "escapes": text("%41+"),
  "bad escapes": text("%"),
  "Base64": text("QUJD"),
  "controls": text("\u0001"),
  "growing": text("ŉ"),
}

const digits = (size: number, at = 0) => `${"9".repeat(Math.max(size - 1, 0))}${at % 10}`
/** Returns a number half-way between two doubles. Parsing it needs all its digits. */
const halfway = (size: number, at = 0) => `9007199254740993.${"0".repeat(Math.max(size - 18, 0))}${at % 10}`
const tiny = (size: number, at = 0) => `2.4703282292062327${"2082799".repeat(Math.max(size, 0) / 7)}${at % 10}e-324`

export const numbers: Readonly<Record<string, Make>> = {
  "number": (size) => size > 1 ? none : [1.5, 2.5, -1.5e300],
  "large number": (size) => size > 1 ? none : [1e300, 1.1e-300, 5e-324],
  "digits": (size) => size > 400 ? none : [digits(size), digits(size, 1), digits(size, 2)],
  "halfway": (size) => size > 400 ? none : [halfway(size), halfway(size, 1), halfway(size, 2)],
  "tiny": (size) => size > 400 ? none : [tiny(size - 30), tiny(size - 30, 1), tiny(size - 30, 2)],
  "date": (size) => size > 1 ? none : ["2026-03-14 10:00", "Europe/Lisbon", 1],
  "long date": (size) => size > 1 ? none : [`Sat, 14 Mar 2026 10:00${" ".repeat(60)}`, "%A %B %c %100N", 1],
  "nothing": (size) => size > 1 ? none : [null, null, null],
}

/** Returns lists of at most one megabyte as JSON. */
const list = (bytes: number, make: (index: number, size: number) => unknown): Make => (size) => {
  const length = Math.min(size, Math.floor(1_000_000 / bytes))
  const a = Array.from({ length }, (_, i) => make(i * 7919 % length, length))
  return [a, a.slice(), a.at(-1)]
}

const nested = (depth: number): unknown => depth === 0 ? 1 : [nested(depth - 1), 1]
const path = (value: unknown) => ({ a: { b: { c: { d: value } } } })

export const lists: Readonly<Record<string, Make>> = {
  "list of numbers": list(4, (i) => i),
  "list of fractions": list(12, (i) => i + 0.123456789),
  "list of ones": list(2, () => 1),
  "list of texts": list(10, (i) => `item ${i}`),
  "list of digits": list(400, (i) => digits(395, i)),
  "list of halfway numbers": list(400, (i) => halfway(395, i)),
  "list of tiny numbers": list(400, (i) => tiny(370, i)),
  "list of short digits": list(20, (i) => halfway(20, i)),
  "list of alike texts": list(1_000, (i) => `${"a".repeat(990)}${i}`),
  "list of CJK texts": list(1_000, (i) => `${"字".repeat(900)}${i}`),
  "list of lists": list(60, () => nested(10)),
  "list of pairs": list(9, (i) => [i, i]),
  "list of empty objects": list(3, () => ({})),
  "list of objects": list(15, (i) => ({ a: i })),
  "list of paths": list(40, (i) => path(i)),
  "list of paths to digits": list(440, (i) => path(digits(390, i))),
  "list of wide objects": list(400, (i) => Object.fromEntries(Array.from({ length: 30 }, (_, k) => [`k${k}`, i]))),
  "list of nothing": list(5, () => null),
  "list of two long texts": (size) => [
    ["a".repeat(size / 2), "a".repeat(size / 2)],
    ["a".repeat(size / 2), `${"a".repeat(size / 2)}b`],
    "a",
  ],
}

const record = (bytes: number, make: (index: number) => readonly [string, unknown]): Make => (size) => {
  const entries = () => Array.from({ length: Math.min(size, Math.floor(1_000_000 / bytes)) }, (_, i) => make(i))
  return [Object.fromEntries(entries()), Object.fromEntries(entries()), "k1"]
}

const deep = (depth: number): unknown => JSON.parse('{"a":'.repeat(depth) + "1" + "}".repeat(depth))

export const records: Readonly<Record<string, Make>> = {
  "object": record(10, (i) => [`k${i}`, i]),
  "object of lists": record(14, (i) => [`k${i}`, [i]]),
  "object of long keys": record(1_000, (i) => [`${"k".repeat(980)}${i}`, i]),
  "object of texts": record(1_000, (i) => [`k${i}`, '"'.repeat(480)]),
  "deep object": (size) => size > 400 ? none : [deep(Math.min(size, 60)), deep(Math.min(size, 60)), "a"],
  "lists of objects": (size) => {
    const a = Array.from({ length: Math.min(size, 30_000) }, () => ({ a: deep(3) }))
    return [{ a }, { a }, "a"]
  },
}
