import { Schema } from "effect"
import { stringify } from "yaml"
import { ApiKey } from "../domain/ApiKey.ts"
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
export type KeyEntry = typeof KeyEntry.Type

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
