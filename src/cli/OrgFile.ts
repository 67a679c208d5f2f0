import { Schema } from "effect"
import { stringify } from "yaml"
import { ApiKey } from "../domain/ApiKey.ts"
import { type Difference, difference } from "../domain/Difference.ts"
import { type Organization, OrganizationPatch } from "../domain/Organization.ts"
import { SnippetFileInput } from "../domain/Snippet.ts"
import { listOfSources, sourceIdOf } from "../domain/Source.ts"
import { TemplateInput } from "../domain/Template.ts"
import { RateLimit } from "../text/RateLimit.ts"
import { format } from "../templates/TemplateFileText.ts"
import type { ResponseOf } from "./Client.ts"
import { platformNames } from "./PlatformNames.ts"

// An organization as a file for version control: settings, webhook sources, connections, keys, snippets and templates,
// without secrets. A step makes one part of the organization equal to the file. What the file does not have stays.

const SourceEntry = Schema.Struct({ enabled: Schema.Boolean, settings: Schema.Record(Schema.String, Schema.Unknown) })

const ConnectionEntry = Schema.Struct({
  platform: Schema.Literals(platformNames),
  enabled: Schema.Boolean,
  default: Schema.Boolean,
  settings: Schema.Record(Schema.String, Schema.Unknown),
})

const KeyEntry = Schema.Struct({
  name: Schema.String,
  kind: ApiKey.fields.kind,
  scopes: ApiKey.fields.scopes,
  rate_limit: Schema.NullOr(RateLimit),
})
type KeyEntry = typeof KeyEntry.Type

const SourceName = Schema.String.check(
  Schema.makeFilter<string>((name) =>
    sourceIdOf(name) === undefined ? `is not a source. The sources are ${listOfSources}` : undefined
  ),
)

/** Returns the fault of names of which two are equal. Undefined without one. */
const distinct = (names: ReadonlyArray<string>): string | undefined => {
  const repeated = names.find((name, at) => names.indexOf(name) !== at)
  return repeated === undefined ? undefined : `has two entries for ${repeated}. Remove one of them`
}

/** A file. The service checks what depends on the platform of a source or connection, and the content of templates. */
export const OrgFile = Schema.Struct({
  organization: Schema.optionalKey(OrganizationPatch),
  sources: Schema.optionalKey(
    Schema.Record(SourceName, SourceEntry).check(
      Schema.makeFilter<object>((sources) => distinct(Object.keys(sources).map((name) => sourceIdOf(name) ?? name))),
    ),
  ),
  connections: Schema.optionalKey(Schema.Record(Schema.String, ConnectionEntry)),
  keys: Schema.optionalKey(
    Schema.Array(KeyEntry).check(
      Schema.makeFilter<ReadonlyArray<KeyEntry>>((keys) => distinct(keys.map(({ name }) => name))),
    ),
  ),
  snippets: Schema.optionalKey(Schema.Array(SnippetFileInput)),
  templates: Schema.optionalKey(Schema.Array(TemplateInput)),
})
export type OrgFile = typeof OrgFile.Type

/** An organization as the service has it, other than snippets and templates. */
export interface StoredOrg {
  readonly organization: Organization
  readonly sources: ResponseOf<"listSources">["webhooks"]
  readonly connections: ResponseOf<"listConnections">["connections"]
  readonly keys: ResponseOf<"listKeys">["keys"]
}

type Entries = Required<Pick<OrgFile, "organization" | "sources" | "connections" | "keys">>

/** The parts of an organization that a file holds. Revoked keys are left out. */
export const entriesOf = ({ connections, keys, organization, sources }: StoredOrg): Entries => {
  const { created_at: _, slug: _slug, updated_at: _updated, ...settings } = organization
  return {
    organization: settings as OrganizationPatch,
    sources: Object.fromEntries(
      sources.filter(({ set_up }) => set_up).map((
        { enabled, platform, settings },
      ) => [platform, { enabled, settings }]),
    ),
    connections: Object.fromEntries(
      connections.map(({ default: isDefault, enabled, name, platform, settings }) => [
        name,
        { platform, enabled, default: isDefault, settings },
      ]),
    ) as Entries["connections"],
    keys: keys.filter(({ revoked_at }) => revoked_at === null).map(({ kind, name, rate_limit, scopes }) => ({
      name,
      kind,
      scopes,
      rate_limit,
    })),
  }
}

/** The text of a file. */
export const orgText = (
  entries: Entries,
  templates: ReadonlyArray<TemplateInput>,
  snippets: ReadonlyArray<SnippetFileInput>,
): string => stringify(entries, { lineWidth: 0, aliasDuplicateObjects: false }) + format(templates, "yaml", snippets)

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
