import { Effect } from "effect"
import { InvalidInput } from "../domain/Errors.ts"
import { faultText } from "./RetoldTexts.ts"

/**
 * The e-mail addresses of a typed or pasted text, each once, such as `ann@example.com; Ben <ben@example.com>`. Spaces,
 * line breaks, commas and semicolons separate addresses. Leaves out the name before an address in angle brackets.
 * Returns other words as well, so that a schema refuses them.
 */
export const addressesIn = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let names: Array<string> = []
  for (const [token] of text.matchAll(/<[^<>,;\r\n]*>?|[;\r\n]|[^\s,;<>"]+/g)) {
    const word = token.replace(/^[<'\s]+|[>'\s]+$/g, "") || token
    if (token.startsWith("<")) {
      names = []
      found.push(word)
    } else if (/[;\r\n]/.test(token)) found.push(...names.splice(0))
    else if (word.includes("@")) found.push(...names.splice(0), word)
    else names.push(word)
  }
  const seen = new Set<string>()
  return [...found, ...names].filter((word) => seen.size < seen.add(word.toLowerCase()).size)
}

/** Quotes the address in each fault of one of the `emails` of a form, because a form has no numbers of lines. */
export const namingAddresses = (emails: ReadonlyArray<string>) =>
  Effect.mapError(({ faults }: InvalidInput) =>
    new InvalidInput({
      faults: faults.map((fault) => {
        const [, index] = /^\/emails\/(\d+)$/.exec(fault.pointer) ?? []
        return index === undefined
          ? fault
          : { pointer: "/emails", detail: `"${emails[Number(index)]}" ${faultText(fault.detail)}` }
      }),
    })
  )
