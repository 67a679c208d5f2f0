import type { Message } from "./Connection.ts"
import { t } from "../languages/Language.ts"
import { missingParts } from "./connections/Content.ts"
import type { Variables } from "./connections/Entry.ts"

/** A variant, and its name in warnings. */
export interface NamedVariant extends Pick<Message, "formats" | "vars"> {
  readonly name: string
}

/** Maximum number of variants that a warning names. Other variants are only counted. */
const maxNamed = 10

const listed = (names: ReadonlyArray<string>): string => {
  const named = names.slice(0, maxNamed).join(", ")
  return names.length > maxNamed ? t`${named} and ${names.length - maxNamed} more` : named
}

/**
 * Returns warnings about variants that Deliver cannot send, one for each set of missing parts. `variables` are the
 * variable names of the connection, or undefined if it accepts variables of any name: then there are no warnings.
 */
export const sendWarnings = (
  variants: Iterable<NamedVariant>,
  variables: typeof Variables.Type | undefined,
): ReadonlyArray<string> => {
  if (variables === undefined) return []
  const subject = JSON.stringify(variables.subject ?? "subject")
  const body = JSON.stringify(variables.body ?? "body")
  const groups = {
    body: {
      lack: t`no body`,
      remedy: t`Write the message in a variable ${body} with the format html.`,
      names: new Array<string>(),
    },
    subject: { lack: t`no subject`, remedy: t`Write it in a variable ${subject}.`, names: new Array<string>() },
    both: {
      lack: t`no subject and no body`,
      remedy:
        t`Write the subject in a variable ${subject}, and the message in a variable ${body} with the format html.`,
      names: new Array<string>(),
    },
  }
  for (const variant of variants) {
    const missing = missingParts(variant, variables)
    if (!missing.subject && !missing.body) continue
    groups[missing.subject ? missing.body ? "both" : "subject" : "body"].names.push(variant.name)
  }
  return Object.values(groups).filter(({ names }) => names.length > 0).map(({ lack, names, remedy }) =>
    names.length === 1
      ? t`Deliver cannot send the variant ${names[0]!}: it has ${lack}. ${remedy}`
      : t`Deliver cannot send ${names.length} variants, because they have ${lack}: ${listed(names)}. ${remedy}`
  )
}
