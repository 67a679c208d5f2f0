import { Console, Effect, Result, Schema } from "effect"
import * as TemplateFile from "../templates/TemplateFile.ts"
import { allTemplates } from "./allTemplates.ts"
import { fieldText } from "./ChangesText.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { steps } from "./ApiCommand.ts"
import { argument, out } from "./Flags.ts"
import { fromIssue } from "../domain/Faults.ts"
import { printOrWrite, readText } from "./Inputs.ts"
import { entriesOf, type OrgFile, OrgFile as OrgFileSchema, orgText, type StoredOrg } from "./OrgFile.ts"
import { type OrgChange, type OrgPlan, planOf } from "./OrgPlan.ts"
import { messageOf } from "./Report.ts"
import { isProposed, organization } from "./Root.ts"
import { differenceText, dryRun, statusOfDifferences } from "./TemplateFileCommands.ts"
import { read } from "../templates/TemplateFileSource.ts"

const storedOrg = Effect.fnUntraced(function* (org: string) {
  const client = yield* ManagementClient
  const params = { org }
  const { connections } = yield* client.listConnections({ params })
  const { keys } = yield* client.listKeys({ params })
  const { webhooks: sources } = yield* client.listSources({ params })
  const { endpoints } = yield* client.listWebhookEndpoints({ params })
  const { bucket } = yield* client.getBucket({ params })
  const { group_roles: groupRoles } = yield* client.listGroupRoles({ params })
  const { views } = yield* client.listViews({ params, query: {} })
  return {
    organization: yield* client.getOrganization({ params }),
    suggestions: yield* client.getSuggestionSetup({ params }),
    connections,
    keys,
    sources,
    endpoints,
    bucket,
    groupRoles,
    views,
  } satisfies StoredOrg
})

const decode = Schema.decodeUnknownResult(OrgFileSchema, { errors: "all", onExcessProperty: "error" })

/** Reads a file. Fails with `CommandFailed`, which lists all faults. */
const readOrgFile = Effect.fnUntraced(function* (file: string) {
  const { faults, positionOf, root } = read(yield* readText(file))
  if (root === undefined || faults.length > 0) {
    const lines = faults.map(({ message, offset }) => {
      const { column, line } = positionOf(offset)
      return `${file}:${line}:${column}: ${message}`
    })
    return yield* new CommandFailed({ message: lines.join("\n") })
  }
  const decoded = decode(root.value)
  if (Result.isSuccess(decoded)) return decoded.success
  const lines = fromIssue(decoded.failure.issue).map(({ detail, pointer }) =>
    `${file}: ${pointer === "" ? "The file" : `${pointer}:`} ${detail}`
  )
  return yield* new CommandFailed({ message: lines.join("\n") })
})

/** Imports the snippets and templates of a file, or compares them. Undefined if the file has none. */
const sendTemplates = Effect.fnUntraced(function* (org: string, { snippets, templates }: OrgFile, dryRun: boolean) {
  if (templates === undefined && snippets === undefined) return undefined
  const client = yield* ManagementClient
  return yield* client.importTemplates({
    params: { org },
    query: dryRun ? { dry_run: "true" } : {},
    payload: { templates: templates ?? [], ...(snippets === undefined ? {} : { snippets }) } as never,
  })
})

type Compared = Effect.Success<ReturnType<typeof sendTemplates>>

const planText = ({ notes, steps }: OrgPlan, templates: Compared): string =>
  [
    ...steps.flatMap(({ changes, what }) => [`Change ${what}`, ...changes.fields.flatMap(fieldText), ""]),
    ...(templates !== undefined && "unchanged" in templates ? [differenceText(templates), ""] : []),
    ...notes,
    ...(steps.length === 0 && notes.length === 0 && isSame(templates) ? ["The organization is equal to the file"] : []),
  ].join("\n").trimEnd()

const isSame = (templates: Compared): boolean =>
  templates === undefined || !("changes" in templates) ||
  (templates.changes ?? []).length + (templates.snippets ?? []).length === 0

const compared = Effect.fnUntraced(function* (file: string) {
  const org = yield* organization
  const wanted = yield* readOrgFile(file)
  const plan = planOf(wanted, yield* storedOrg(org))
  return { org, wanted, plan, templates: yield* sendTemplates(org, wanted, true) }
})

const callOf = (
  client: ManagementClient["Service"],
  org: string,
  request: OrgChange["request"],
): Effect.Effect<unknown, { readonly _tag: string }> => {
  switch (request.kind) {
    case "organization":
      return client.updateOrganization({ params: { org }, payload: request.payload })
    case "source":
      return client.putSource({ params: { org, segment: request.name }, payload: request.payload })
    case "connection":
      return client.putConnection({ params: { org, connection: request.name }, payload: request.payload as never })
    case "key":
      return client.updateKey({ params: { org, key: request.id }, payload: request.payload })
    case "endpoint":
      return client.updateWebhookEndpoint({ params: { org, endpoint: request.id }, payload: request.payload })
    case "bucket":
      return client.setBucket({ params: { org }, payload: request.payload })
    case "suggestions":
      return client.updateSuggestionSetup({ params: { org }, payload: request.payload })
    case "group role":
      return client.putGroupRole({ params: { org }, payload: request.payload })
    case "view":
      return client.putView({ params: { org, view: request.id }, payload: request.payload })
  }
}

/** Makes the changes of a plan. Templates come first, because they are imported all or none. */
const applied = Effect.fnUntraced(function* (org: string, file: OrgFile, { steps }: OrgPlan) {
  const client = yield* ManagementClient
  const templates = yield* sendTemplates(org, file, false)
  yield* Effect.forEach(
    steps,
    ({ request, what }) =>
      callOf(client, org, request).pipe(
        Effect.catch((error) =>
          Effect.flatMap(
            messageOf(error),
            (message) => Effect.fail(new CommandFailed({ message: `${what} was not changed: ${message}` })),
          )
        ),
        Effect.andThen(Console.error(`Changed ${what}`)),
      ),
    { discard: true },
  )
  return templates
})

const file = argument("file", "A file of `org export`, as YAML or JSON; - for standard input")

const diff = steps(
  "Show what `org apply` would change, field by field. Exit status: 0 without differences, " +
    `${statusOfDifferences} with differences, 1 after an error, such as a faulty file`,
  { file },
  (_, { file }) => compared(file),
)
  .result(({ plan, templates }) => ({ ...plan, templates: templates ?? null }))
  .failsIf(
    ({ plan, templates }) => plan.steps.length + plan.notes.length > 0 || !isSame(templates),
    statusOfDifferences,
  )
  .text((_, _values, { plan, templates }) => planText(plan, templates))

const apply = steps(
  "Make an organization equal to a file: settings, webhook sources and endpoints, connections, limits of keys, bucket, " +
    "suggestions, roles of groups, shared views, snippets and templates. What the file does not have stays as it is. Secrets are never in a file: the command says which ones to set",
  { file, dryRun },
  Effect.fnUntraced(function* (_, { dryRun, file }) {
    const found = yield* compared(file)
    return dryRun ? found : { ...found, imported: yield* applied(found.org, found.wanted, found.plan) }
  }),
)
  .examples({ command: "parlance org apply --dry-run acme.yaml", description: "Check a file in a pipeline" })
  .result(({ plan, templates }) => ({ ...plan, templates: templates ?? null }))
  .text((_, { dryRun }, { plan, templates, ...made }) => {
    const text = planText(plan, templates)
    if (dryRun) return `${text}\nNothing was changed: this is a dry run`
    const imported = "imported" in made ? made.imported : undefined
    return imported !== undefined && isProposed(imported) ? `${text}\n${imported.detail}` : text
  })

const exportCommand = steps(
  "Export an organization without secrets and people, for version control: settings, webhook sources and endpoints, " +
    "connections, keys, bucket, suggestions, roles of groups, shared views, snippets and templates",
  { out },
  function* (client, { out }) {
    const org = yield* organization
    const entries = entriesOf(yield* storedOrg(org))
    const templates = yield* allTemplates(org, "all")
    const { snippets } = yield* client.listSnippets({ params: { org } })
    const text = orgText(
      entries,
      templates.map(TemplateFile.inputOf),
      snippets.map(({ format, id, name, text }) => ({ id, name, format, text })),
    )
    if (yield* printOrWrite(out, text)) {
      yield* Console.error(`Wrote ${org} with ${templates.length} templates to ${out}`)
    }
  },
).silent()

/** `parlance org export`, `diff` and `apply` */
export const orgFileCommands = { export: exportCommand, diff, apply }
