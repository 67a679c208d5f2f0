import { type Difference, difference } from "../domain/Difference.ts"
import type { OrganizationPatch } from "../domain/Organization.ts"
import { sourceIdOf } from "../domain/Source.ts"
import { entriesOf, type KeyEntry, type OrgFile, type StoredOrg } from "./OrgFile.ts"

/** A change that makes a part of an organization equal to the file. */
export interface OrgChange {
  readonly what: string
  readonly changes: Difference
  readonly request:
    | { readonly kind: "organization"; readonly payload: OrganizationPatch }
    | { readonly kind: "source"; readonly name: string; readonly payload: object }
    | { readonly kind: "connection"; readonly name: string; readonly payload: object }
    | { readonly kind: "key"; readonly id: string; readonly payload: Pick<KeyEntry, "rate_limit"> }
}

/** The steps of a file, and what a person must do: secrets and scopes are not in a file or cannot be changed. */
export interface OrgPlan {
  readonly steps: ReadonlyArray<OrgChange>
  readonly notes: ReadonlyArray<string>
}

const fieldsOf = (value: object | undefined) =>
  value === undefined ? undefined : Object.fromEntries(Object.entries(value).map(([name, one]) => [`/${name}`, one]))

/** A text as one word of a POSIX shell. */
const word = (text: string): string => /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

const keyPlan = (key: KeyEntry, stored: StoredOrg["keys"]): OrgPlan => {
  const named = stored.filter(({ name, revoked_at }) => name === key.name && revoked_at === null)
  const [present] = named
  const scopes = key.scopes.map((scope) => ` --scope ${scope}`).join("")
  if (present === undefined) {
    const kind = key.kind === "test" ? " --kind test" : ""
    return {
      steps: [],
      notes: [`Key ${key.name}: create it with \`parlance key create ${word(key.name)}${kind}${scopes}\``],
    }
  }
  if (named.length > 1) {
    return { steps: [], notes: [`Key ${key.name}: ${named.length} keys have this name. Rename or revoke the others`] }
  }
  const changes = difference(fieldsOf({ rate_limit: present.rate_limit }), fieldsOf({ rate_limit: key.rate_limit }))
  const isOther = present.kind !== key.kind || [...present.scopes].sort().join() !== [...key.scopes].sort().join()
  return {
    steps: changes.fields.length === 0 ? [] : [{
      what: `Key ${key.name}`,
      changes,
      request: { kind: "key", id: present.id, payload: { rate_limit: key.rate_limit } },
    }],
    notes: isOther
      ? [`Key ${key.name}: its kind or scopes differ. Create another key with${scopes}, and revoke ${present.id}`]
      : [],
  }
}

/** The steps that make an organization equal to a file. */
export const planOf = (file: OrgFile, stored: StoredOrg): OrgPlan => {
  const present = entriesOf(stored)
  const steps: Array<OrgChange> = []
  const notes: Array<string> = []
  const settings = file.organization ?? {}
  const before = Object.fromEntries(
    Object.entries(present.organization).filter(([name]) => Object.hasOwn(settings, name)),
  )
  const changes = difference(fieldsOf(before), fieldsOf(settings))
  if (changes.fields.length > 0) {
    steps.push({ what: "Organization", changes, request: { kind: "organization", payload: settings } })
  }
  for (const kind of ["source", "connection"] as const) {
    const entries: Readonly<Record<string, { readonly settings: object; readonly platform?: string }>> =
      file[`${kind}s`] ?? {}
    const known: Readonly<Record<string, { readonly enabled: boolean; readonly platform?: string }>> =
      present[`${kind}s`]
    // A source has two names, and either works.
    const idOf = (name: string) => kind === "source" ? sourceIdOf(name) ?? name : name
    const byId = new Map(Object.entries(known).map(([name, entry]) => [idOf(name), entry]))
    for (const [name, entry] of Object.entries(entries)) {
      const present = byId.get(idOf(name))
      if (present === undefined) {
        const settings = `--settings ${word(JSON.stringify(entry.settings))}`
        notes.push(
          kind === "source"
            ? `Source ${name}: set it up with its secret by \`parlance webhook set ${name} ${settings}\``
            : `Connection ${name}: set it up with its secrets by \`parlance connection set ${word(name)} --platform ${
              word(entry.platform ?? "")
            } ` +
              `${settings} --secrets-stdin\``,
        )
        continue
      }
      if (entry.platform !== present.platform) {
        notes.push(
          `Connection ${name}: its platform is ${present.platform} and cannot change. Add a connection with another name`,
        )
        continue
      }
      const changes = difference(fieldsOf(present), fieldsOf(entry))
      if (changes.fields.length === 0) continue
      const { platform: _, ...payload } = entry
      steps.push({
        what: `${kind === "source" ? "Source" : "Connection"} ${name}`,
        changes,
        request: { kind, name, payload },
      })
    }
  }
  const keys = (file.keys ?? []).map((key) => keyPlan(key, stored.keys))
  return {
    steps: [...steps, ...keys.flatMap((plan) => plan.steps)],
    notes: [...notes, ...keys.flatMap((plan) => plan.notes)],
  }
}
