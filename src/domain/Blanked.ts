import { JsonPointer } from "effect"
import { isDeepStrictEqual } from "node:util"
import type { RecordFields } from "./Difference.ts"

/** Whether a setting of this name may be a secret: a credential, or an address that can contain one. */
export const soundsSecret = (name: string): boolean =>
  /secret|password|token|credential|key|authorization|dsn|_url$|^url$/i.test(name)

/** Placeholder for a secret. */
export const blank = "•••"

/** Copies a value, and replaces every member whose name sounds secret by `blank`. */
const blanked = (value: unknown): unknown => {
  if (value === null || typeof value !== "object") return value
  if (Array.isArray(value)) return value.map(blanked)
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, soundsSecret(name) ? blank : blanked(one)]),
  )
}

type Settings = Readonly<Record<string, unknown>>

/**
 * Settings before and after a change for the audit log, below `/settings`. Possible secrets are replaced by
 * placeholders that still differ if the secret changed.
 */
export const comparedSettings = (before: Settings, after: Settings): readonly [RecordFields, RecordFields] => {
  const [a, b]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}]
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const pointer = `/settings/${JsonPointer.escapeToken(name)}`
    const whole = [before, after].map((settings) => Object.hasOwn(settings, name) ? { [name]: settings[name] } : {})
    const [old, young] = whole.map((one) => (blanked(one) as Settings)[name])
    if (old !== undefined) a[pointer] = old
    if (young !== undefined) b[pointer] = young
    if (old !== undefined && isDeepStrictEqual(old, young) && !isDeepStrictEqual(whole[0], whole[1])) {
      b[pointer] = `${typeof young === "string" ? young : JSON.stringify(young)} (changed)`
    }
  }
  return [a, b]
}

/** Placeholders for an unchanged and for a changed secret. */
export const secretIs = { set: "set", replaced: "replaced" } as const
