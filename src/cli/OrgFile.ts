import { Schema } from "effect"
import { stringify } from "yaml"
import { HttpUrl } from "../delivery/connections/Entry.ts"
import { ApiKey } from "../domain/ApiKey.ts"
import { Role } from "../accounts/Account.ts"
import { BucketInput } from "../buckets/Bucket.ts"
import { Remark } from "../domain/Ids.ts"
import { type Organization, OrganizationPatch } from "../domain/Organization.ts"
import { SavedViewInput } from "../domain/SavedView.ts"
import { SnippetFileInput } from "../domain/Snippet.ts"
import { listOfSources, sourceIdOf } from "../domain/Source.ts"
import { TemplateInput } from "../domain/Template.ts"
import { RateLimit } from "../text/RateLimit.ts"
import { SuggestionSetupPatch } from "../suggestions/SuggestionSetups.ts"
import { chosenTypes } from "../webhooks/EventTypes.ts"
import { format } from "../templates/TemplateFileText.ts"
import type { ResponseOf } from "./Client.ts"
import { platformNames } from "./PlatformNames.ts"

// An organization as a file for version control, without secrets and without people.

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

/** Without the secret of the access key. */
const { secret_access_key: _secret, ...bucketFields } = BucketInput.fields
const BucketEntry = Schema.Struct(bucketFields)

/** A view that all members see. */
const { shared: _shared, ...viewFields } = SavedViewInput.fields
const ViewEntry = Schema.Struct(viewFields)

const EndpointEntry = Schema.Struct({
  url: HttpUrl,
  description: Remark,
  events: Schema.Array(Schema.Literals(chosenTypes)),
  enabled: Schema.Boolean,
})
export type EndpointEntry = typeof EndpointEntry.Type

/** Without the key of the model. */
const { key: _key, ...suggestionFields } = SuggestionSetupPatch.fields
const SuggestionsEntry = Schema.Struct(suggestionFields)

/** Returns the fault of names of which two are equal. Undefined without one. */
const distinct = (names: ReadonlyArray<string>): string | undefined => {
  const repeated = names.find((name, at) => names.indexOf(name) !== at)
  return repeated === undefined ? undefined : `has two entries for ${repeated}. Remove one of them`
}

/** Whether a view names an e-mail address. A file in version control would keep the address after an erasure. */
const namesPerson = ({ query }: { readonly query: string }): boolean => /@|%40/i.test(query)

/** Returns the fault of the names of sources. Undefined without one. */
const faultOfSources = (sources: object): string | undefined => {
  const names = Object.keys(sources)
  const unknown = names.find((name) => sourceIdOf(name) === undefined)
  return unknown === undefined
    ? distinct(names.map((name) => sourceIdOf(name)!))
    : `has no source ${unknown}. The sources are ${listOfSources}`
}

/** Returns the fault of connections of which several are the default. Undefined without one. */
const faultOfConnections = (connections: Readonly<Record<string, typeof ConnectionEntry.Type>>): string | undefined => {
  const names = Object.keys(connections).filter((name) => connections[name]!.default)
  return names.length > 1 ? `has several defaults: ${names.join(", ")}. Leave \`default: true\` to one` : undefined
}

/** Returns the fault of views of which one names a person. Undefined without one. */
const faultOfViews = (views: Readonly<Record<string, typeof ViewEntry.Type>>): string | undefined => {
  const id = Object.keys(views).find((id) => namesPerson(views[id]!))
  return id === undefined
    ? undefined
    : `has an e-mail address in the query of ${id}, which the file would keep after an erasure. ` +
      "Remove the view from the file, and save it with `parlance view set`"
}

/** A file. The service checks what depends on the platform of a source or connection, and the content of templates. */
export const OrgFile = Schema.Struct({
  organization: Schema.optionalKey(OrganizationPatch),
  sources: Schema.optionalKey(
    Schema.Record(Schema.String, SourceEntry).check(Schema.makeFilter<object>(faultOfSources)),
  ),
  connections: Schema.optionalKey(
    Schema.Record(Schema.String, ConnectionEntry).check(
      Schema.makeFilter<Readonly<Record<string, typeof ConnectionEntry.Type>>>(faultOfConnections),
    ),
  ),
  keys: Schema.optionalKey(
    Schema.Array(KeyEntry).check(
      Schema.makeFilter<ReadonlyArray<KeyEntry>>((keys) => distinct(keys.map(({ name }) => name))),
    ),
  ),
  endpoints: Schema.optionalKey(
    Schema.Array(EndpointEntry).check(
      Schema.makeFilter<ReadonlyArray<EndpointEntry>>((endpoints) => distinct(endpoints.map(({ url }) => url))),
    ),
  ),
  bucket: Schema.optionalKey(BucketEntry),
  suggestions: Schema.optionalKey(SuggestionsEntry),
  group_roles: Schema.optionalKey(Schema.Record(Schema.String, Role)),
  views: Schema.optionalKey(
    Schema.Record(Schema.String, ViewEntry).check(
      Schema.makeFilter<Readonly<Record<string, typeof ViewEntry.Type>>>(faultOfViews),
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
  readonly endpoints: ResponseOf<"listWebhookEndpoints">["endpoints"]
  readonly bucket: ResponseOf<"getBucket">["bucket"]
  readonly suggestions: ResponseOf<"getSuggestionSetup">
  readonly groupRoles: ResponseOf<"listGroupRoles">["group_roles"]
  readonly views: ResponseOf<"listViews">["views"]
}

export type Entries = Required<Omit<OrgFile, "bucket" | "snippets" | "templates">> & Pick<OrgFile, "bucket">

/**
 * The parts of an organization that a file holds. Revoked keys and views that name a person are left out, and so are
 * webhook endpoints with the URL of an earlier one.
 */
export const entriesOf = (stored: StoredOrg): Entries => {
  const { bucket, connections, endpoints, groupRoles, keys, organization, sources, suggestions, views } = stored
  const { created_at: _, slug: _slug, updated_at: _updated, ...settings } = organization
  const { daily_limit: _limit, has_key: _hasKey, requests_today: _today, used: _used, ...setup } = suggestions
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
    endpoints: endpoints.filter(({ url }, at) => endpoints.findIndex((one) => one.url === url) === at).map((
      { description, enabled, events, url },
    ) => ({ url, description, events, enabled })),
    ...(bucket === null ? {} : {
      bucket: {
        endpoint: bucket.endpoint,
        region: bucket.region,
        name: bucket.name,
        folder: bucket.folder,
        access_key_id: bucket.access_key_id,
        is_active: bucket.is_active,
        attributes_folder: bucket.attributes_folder,
      },
    }),
    suggestions: setup,
    group_roles: Object.fromEntries(groupRoles.map(({ group, role }) => [group, role])),
    views: Object.fromEntries(
      views.filter((view) => view.shared && !namesPerson(view)).map((
        { id, list, name, query },
      ) => [id, { list, name, query }]),
    ),
  }
}

/** The text of a file. */
export const orgText = (
  entries: Entries,
  templates: ReadonlyArray<TemplateInput>,
  snippets: ReadonlyArray<SnippetFileInput>,
): string => stringify(entries, { lineWidth: 0, aliasDuplicateObjects: false }) + format(templates, "yaml", snippets)
