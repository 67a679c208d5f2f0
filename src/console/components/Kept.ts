import type { SentForm } from "../SentForms.ts"

// Fields that a page keeps of a form that was sent after the session had ended.

/** The field of a form with the e-mail address of the account that its page was made for. */
export const accountField = "_account"

/** The field of a form that names its fields with passwords and secrets. */
export const secretsField = "_secrets"

/** The fields of a form that a page keeps. */
export interface KeptFields {
  readonly fields: Readonly<Record<string, string>>
  /** Whether the form also had passwords, secrets or files, which no page keeps. */
  readonly isPartial: boolean
}

/** Returns the fields to keep. Undefined if nothing was typed, or if the form does not name its account. */
export const keptOf = ({ fields, files }: SentForm): KeptFields | undefined => {
  const secrets = new Set(fields[secretsField]?.split("\n"))
  const left = Object.entries(fields).filter(([name]) => name !== "_csrf" && !secrets.has(name))
  return fields[accountField] === undefined || !left.some(([name, value]) => !name.startsWith("_") && value !== "")
    ? undefined
    : {
      fields: Object.fromEntries(left),
      isPartial: files.length > 0 || [...secrets].some((name) => (fields[name] ?? "") !== ""),
    }
}
