import { Effect } from "effect"
import { Checking, stoppedFault } from "../checking/Checking.ts"
import type { ConvertedSource, Sources } from "../checking/Checks.ts"
import type { CopyPlatform } from "../domain/CopyPlatform.ts"
import { InvalidInput } from "../domain/Errors.ts"
import { refusalOf } from "./conversion/Refusal.ts"

/** Copy of another platform by variable, with the formats of the variables. */
interface Copy extends Sources {
  readonly from: CopyPlatform
}

/**
 * Converts copy of another platform to Liquid, by variable, in the checking process. Fails with `InvalidInput` for a
 * variable that is no text, is too long, or takes longer than 2 seconds, and with `ChecksBusy`.
 */
export const convertCopy = Effect.fn("convertCopy")(function* (org: string, copy: Copy) {
  const faults = Object.entries(copy.vars).flatMap(([name, source]) => {
    const detail = refusalOf(source)
    return detail === undefined ? [] : [{ pointer: `/vars/${name}`, detail }]
  })
  if (faults.length > 0) return yield* new InvalidInput({ faults })
  const checking = yield* Checking
  return yield* checking.run(org, "convert", copy).pipe(
    Effect.catchTag(
      "WorkFailed",
      (failure) =>
        new InvalidInput({ faults: [{ pointer: "/vars", detail: `${stoppedFault(failure)}: convert it in parts` }] }),
    ),
  )
})

/** Combines converted variables: their Liquid, the findings with their variable, and each field once. */
export const conversionOf = (converted: Readonly<Record<string, ConvertedSource>>) => {
  const entries = Object.entries(converted)
  const fields = new Map(entries.flatMap(([, { fields }]) => fields.map(({ from, to }) => [from, to])))
  return {
    vars: Object.fromEntries(entries.map(([name, { liquid }]) => [name, liquid])),
    findings: entries.flatMap(([variable, { findings }]) => findings.map((finding) => ({ variable, ...finding }))),
    fields: [...fields].map(([from, to]) => ({ from, to })),
  }
}
