import type { GroupRoleInput } from "../accounts/Account.ts"
import type { BucketInput } from "../buckets/Bucket.ts"
import { type Difference, difference } from "../domain/Difference.ts"
import type { OrganizationPatch } from "../domain/Organization.ts"
import type { SavedViewInput } from "../domain/SavedView.ts"
import { sourceIdOf } from "../domain/Source.ts"
import type { SuggestionSetupPatch } from "../suggestions/SuggestionSetups.ts"
import { type EndpointEntry, entriesOf, type KeyEntry, type OrgFile, type StoredOrg } from "./OrgFile.ts"

// The steps that make an organization equal to a file. A step changes one part. Parts that the file does not have stay.

/** A change that makes a part of an organization equal to the file. */
export interface OrgChange {
  readonly what: string
  readonly changes: Difference
  readonly request:
    | { readonly kind: "organization"; readonly payload: OrganizationPatch }
    | { readonly kind: "source"; readonly name: string; readonly payload: object }
    | { readonly kind: "connection"; readonly name: string; readonly payload: object }
    | { readonly kind: "key"; readonly id: string; readonly payload: Pick<KeyEntry, "rate_limit"> }
    | { readonly kind: "endpoint"; readonly id: string; readonly payload: EndpointEntry }
    | { readonly kind: "bucket"; readonly payload: BucketInput }
    | { readonly kind: "suggestions"; readonly payload: SuggestionSetupPatch }
    | { readonly kind: "group role"; readonly payload: GroupRoleInput }
    | { readonly kind: "view"; readonly id: string; readonly payload: SavedViewInput }
}

/** The steps of a file, and what a person must do: secrets and scopes are not in a file or cannot be changed. */
export interface OrgPlan {
  readonly steps: ReadonlyArray<OrgChange>
  readonly notes: ReadonlyArray<string>
}

const note = (text: string): OrgPlan => ({ steps: [], notes: [text] })

const fieldsOf = (value: object | undefined) =>
  value === undefined ? undefined : Object.fromEntries(Object.entries(value).map(([name, one]) => [`/${name}`, one]))

/** A step if `after` differs from `before`, which is undefined for a part that does not exist. */
const stepOf = (
  what: string,
  before: object | undefined,
  after: object,
  request: OrgChange["request"],
): ReadonlyArray<OrgChange> => {
  const changes = difference(fieldsOf(before), fieldsOf(after))
  return changes.fields.length === 0 ? [] : [{ what, changes, request }]
}

/** The members of a record that another record also has. */
const sameMembers = (value: object, as: object) =>
  Object.fromEntries(Object.entries(value).filter(([name]) => Object.hasOwn(as, name)))

/** Returns the entry of a name. Ignores the record's prototype, which has names such as `constructor`. */
const entryOf = <A>(record: Readonly<Record<string, A>>, name: string): A | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined

/** A text as one word of a POSIX shell. */
const word = (text: string): string => /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

const keyPlan = (key: KeyEntry, stored: StoredOrg["keys"]): OrgPlan => {
  const named = stored.filter(({ name, revoked_at }) => name === key.name && revoked_at === null)
  const [present] = named
  const scopes = key.scopes.map((scope) => ` --scope ${scope}`).join("")
  if (present === undefined) {
    const kind = key.kind === "test" ? " --kind test" : ""
    return note(`Key ${key.name}: create it with \`parlance key create ${word(key.name)}${kind}${scopes}\``)
  }
  if (named.length > 1) return note(`Key ${key.name}: ${named.length} keys have this name. Rename or revoke the others`)
  const { rate_limit } = key
  const isOther = present.kind !== key.kind || [...present.scopes].sort().join() !== [...key.scopes].sort().join()
  return {
    steps: stepOf(`Key ${key.name}`, { rate_limit: present.rate_limit }, { rate_limit }, {
      kind: "key",
      id: present.id,
      payload: { rate_limit },
    }),
    notes: isOther
      ? [`Key ${key.name}: its kind or scopes differ. Create another key with${scopes}, and revoke ${present.id}`]
      : [],
  }
}

const sourcePlan = (
  name: string,
  entry: { readonly settings: object },
  known: Readonly<Record<string, { readonly enabled: boolean }>>,
): OrgPlan => {
  // A source has two names, and either works.
  const idOf = (name: string) => sourceIdOf(name) ?? name
  const present = Object.entries(known).find(([other]) => idOf(other) === idOf(name))?.[1]
  if (present === undefined) {
    const settings = word(JSON.stringify(entry.settings))
    return note(
      `Source ${name}: set it up with its secret by \`parlance webhook set ${name} --settings ${settings} --secret-stdin\`. ` +
        "Leave out --secret-stdin if it has no secret",
    )
  }
  return { steps: stepOf(`Source ${name}`, present, entry, { kind: "source", name, payload: entry }), notes: [] }
}

const connectionPlan = (
  name: string,
  entry: NonNullable<OrgFile["connections"]>[string],
  present: NonNullable<OrgFile["connections"]>[string] | undefined,
): OrgPlan => {
  if (present === undefined) {
    return note(
      `Connection ${name}: set it up with its secrets by \`parlance connection set ${word(name)} --platform ${
        word(entry.platform)
      } --settings ${word(JSON.stringify(entry.settings))} --secrets-stdin\`. ` +
        "Leave out --secrets-stdin if it has no secrets",
    )
  }
  if (entry.platform !== present.platform) {
    return note(
      `Connection ${name}: its platform is ${present.platform} and cannot change. Add a connection with another name`,
    )
  }
  const { platform: _, ...payload } = entry
  return { steps: stepOf(`Connection ${name}`, present, entry, { kind: "connection", name, payload }), notes: [] }
}

const endpointPlan = (entry: EndpointEntry, stored: StoredOrg["endpoints"]): OrgPlan => {
  const same = stored.filter(({ url }) => url === entry.url)
  const [present] = same
  if (present === undefined) {
    const events = entry.events.map((event) => ` --event ${event}`).join("")
    const description = entry.description !== "" ? ` --description ${word(entry.description)}` : ""
    return note(
      `Webhook endpoint ${entry.url}: add it by \`parlance webhook-endpoint create ${
        word(entry.url)
      }${description}${events}\`, ` +
        "which prints the secret for its server" + (!entry.enabled ? ". Then disable it" : ""),
    )
  }
  if (same.length > 1) {
    return note(`Webhook endpoint ${entry.url}: ${same.length} endpoints have this URL. Remove the others`)
  }
  return {
    steps: stepOf(`Webhook endpoint ${entry.url}`, sameMembers(present, entry), entry, {
      kind: "endpoint",
      id: present.id,
      payload: entry,
    }),
    notes: [],
  }
}

const bucketPlan = (entry: NonNullable<OrgFile["bucket"]>, present: OrgFile["bucket"]): OrgPlan => {
  // A secret is only for the server, the bucket and the key that it was entered for.
  const isSame = present !== undefined && present.name === entry.name &&
    present.access_key_id === entry.access_key_id &&
    present.endpoint === (entry.endpoint ?? null)
  if (isSame) {
    const after = { endpoint: null, folder: "", is_active: true, attributes_folder: null, ...entry }
    return { steps: stepOf(`Bucket ${entry.name}`, present, after, { kind: "bucket", payload: after }), notes: [] }
  }
  const flags = [
    ["name", entry.name],
    ["region", entry.region],
    ["access-key-id", entry.access_key_id],
    ["endpoint", entry.endpoint],
    ["folder", entry.folder],
    ["attributes-folder", entry.attributes_folder],
    ["active", entry.is_active === false ? "false" : undefined],
  ].flatMap(([name, value]) => value ? [` --${name} ${word(value)}`] : []).join("")
  return note(
    `Bucket ${entry.name}: set it with the secret of its key by \`parlance bucket set${flags} --secret-stdin\``,
  )
}

const suggestionsPlan = (entry: NonNullable<OrgFile["suggestions"]>, present: StoredOrg["suggestions"]): OrgPlan => {
  const steps = stepOf("Suggestions", sameMembers(present, entry), entry, { kind: "suggestions", payload: entry })
  if (entry.url === undefined || entry.url === null || entry.url === present.url) return { steps, notes: [] }
  // The file has no query of a URL, because it may be a secret.
  return entry.url.includes("?")
    ? note(
      "Suggestions: set the whole URL with its query by `parlance org suggestions set --url URL`, then apply again",
    )
    : {
      steps,
      notes: ["Suggestions: if the model needs a key, set it by `parlance org suggestions set --key-stdin`"],
    }
}

/** The steps that make an organization equal to a file. */
export const planOf = (file: OrgFile, stored: StoredOrg): OrgPlan => {
  const present = entriesOf(stored)
  const settings = file.organization ?? {}
  const plans: ReadonlyArray<OrgPlan> = [
    {
      steps: stepOf("Organization", sameMembers(present.organization, settings), settings, {
        kind: "organization",
        payload: settings,
      }),
      notes: [],
    },
    ...Object.entries(file.sources ?? {}).map(([name, entry]) => sourcePlan(name, entry, present.sources)),
    ...Object.entries(file.connections ?? {}).map(([name, entry]) =>
      connectionPlan(name, entry, entryOf(present.connections, name))
    ),
    ...(file.keys ?? []).map((key) => keyPlan(key, stored.keys)),
    ...(file.endpoints ?? []).map((endpoint) => endpointPlan(endpoint, stored.endpoints)),
    ...(file.bucket === undefined ? [] : [bucketPlan(file.bucket, present.bucket)]),
    ...(file.suggestions === undefined ? [] : [suggestionsPlan(file.suggestions, stored.suggestions)]),
    {
      steps: Object.entries(file.group_roles ?? {}).flatMap(([group, role]) =>
        stepOf(
          `Role of the group ${group}`,
          Object.hasOwn(present.group_roles, group) ? { role: present.group_roles[group] } : undefined,
          { role },
          { kind: "group role", payload: { group, role } },
        )
      ),
      notes: [],
    },
    {
      steps: Object.entries(file.views ?? {}).flatMap(([id, view]) =>
        stepOf(`View ${id}`, entryOf(present.views, id), view, { kind: "view", id, payload: { ...view, shared: true } })
      ),
      notes: [],
    },
  ]
  return { steps: plans.flatMap(({ steps }) => steps), notes: plans.flatMap(({ notes }) => notes) }
}
