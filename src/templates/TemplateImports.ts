import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { memberEmails } from "../accounts/MemberEmails.ts"
import { Checking, type CheckStopped, stoppedFault } from "../checking/Checking.ts"
import type { Checks, Sources } from "../checking/Checks.ts"
import {
  ChangeProposed,
  ChecksBusy,
  type Fault,
  InvalidInput,
  type OrganizationNotFound,
  TemplateNotFound,
} from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { SnippetFileInput } from "../domain/Snippet.ts"
import type { Template, TemplateInput } from "../domain/Template.ts"
import { SourceCheck } from "../rendering/SourceCheck.ts"
import { letOthersRun } from "../runtime/letOthersRun.ts"
import { Changes } from "../organizations/Changes.ts"
import { tellAll, tellApart } from "../store/ChangeTrail.ts"
import { tellWarnings } from "../store/WarningTrail.ts"
import { existingOrganization } from "../organizations/Existing.ts"
import { contentWriter } from "./ContentWrite.ts"
import { keepCompiled } from "./CompiledSources.ts"
import { copyInputs, possibleIds } from "./CopyInputs.ts"
import { inputFaults, sizeFaults } from "./ImportInput.ts"
import {
  AuditRoom,
  changesOf,
  planFaults,
  planTemplate,
  type TemplateChange,
  type TemplateContent,
  type TemplatePlan,
  type VariantContent,
} from "./ImportPlan.ts"
import { insertTemplates, lockTemplates, putVariants, updateTemplates } from "./ImportRows.ts"
import type { FileFault } from "../text/TextFaults.ts"
import { Snippets } from "./Snippets.ts"
import { holdSnippets, readSnippetsIn, withSnippets } from "./SnippetRows.ts"
import { inputOf } from "./TemplateFile.ts"
import { pagesOf, readTemplates } from "./TemplateRows.ts"
import { atTranslation } from "./Translations.ts"

/** Result of an import, by template id. A template that equals its import is `unchanged`. */
export interface Imported {
  readonly created: ReadonlyArray<string>
  readonly updated: ReadonlyArray<string>
  readonly unchanged: ReadonlyArray<string>
  /** The snippets that the import creates or changes. */
  readonly snippets: ReadonlyArray<{ readonly id: string; readonly proposed: boolean }>
  /** Updated templates whose objective changes, so that they learn again. */
  readonly relearned: ReadonlyArray<string>
  /** The fields of created and updated templates that the import changes. */
  readonly changes: ReadonlyArray<TemplateChange>
}

/** A template file was refused. Lists every fault, up to 1,000. */
class FileRefused extends Schema.TaggedError<FileRefused>()("FileRefused", {
  faults: Schema.Array(Schema.Struct({
    file: Schema.String,
    line: Schema.Int,
    column: Schema.Int,
    path: Schema.String,
    message: Schema.String,
  })),
}) {}

/** A template was changed between reading and writing it. */
class Moved extends Schema.TaggedError<Moved>()("Moved", {}) {}

/** Adds its result to the failure of an import that awaits approval. */
const waiting = (value: Imported) => ({ proposals }: ChangeProposed) => new ChangeProposed({ proposals, value })

/** Maximum number of times an import is planned again because its templates change concurrently. */
const maxReplans = 5

/** Options of an import. */
interface ImportOptions {
  /** Checks the import and returns its changes, without making them. Default: false. */
  readonly dryRun?: boolean
}

const sourcesOf = ({ locale, variants = [] }: TemplateInput): ReadonlyArray<Sources> =>
  variants.map(({ formats = {}, locales, vars }) => ({ formats, vars, locales, locale: locale?.default }))

/** Returns the templates of an import without faults. */
const whole = (templates: ReadonlyArray<TemplateInput | null>): ReadonlyArray<TemplateInput> =>
  templates.flatMap((template) => template ?? [])

/** Returns the message of a check of an import that was stopped at its time limit. */
const stopped = (detail: string) => `${detail}: import fewer templates at a time, or look for a variant that never ends`

const fileStart = { file: "file", line: 1, column: 1 }

/** Returns a fault without a position in the text of a file. */
const placed = ({ detail, pointer }: Fault): FileFault => ({ ...fileStart, path: pointer, message: detail })

/** Returns a warning of a file with its place in the text, such as `line 4, column 7`, in place of a pointer. */
const unplaced = ({ column, line, message, path }: FileFault): Fault => ({
  pointer: `line ${line}, column ${column}`,
  detail: path === "" ? message : `${path}: ${message}`,
})

/** Returns the result of a check of JSON that was stopped. */
const stoppedJson = (failure: CheckStopped) =>
  Effect.succeed<Checks["import"]["answer"]>({
    templates: [],
    snippets: [],
    faults: [{
      pointer: typeof failure.note === "string" ? failure.note : "/templates",
      detail: stopped(stoppedFault(failure)),
    }],
    warnings: [],
    compiled: [],
  })

/** Returns the result of a check of a file that was stopped. */
const stoppedFile = (failure: CheckStopped) => {
  const place = (failure.note ?? { ...fileStart, path: "" }) as FileFault
  return Effect.succeed<Checks["file"]["answer"]>({
    templates: [],
    snippets: [],
    faults: [{ ...place, message: stopped(stoppedFault(failure)) }],
    warnings: [],
    compiled: [],
  })
}

/** Saves the snippets of an import, or checks them in a dry run. Returns the changed snippets. */
const saveSnippets = (
  snippets: Snippets["Service"],
  org: OrgSlug,
  inputs: ReadonlyArray<SnippetFileInput>,
  dryRun: boolean,
) => {
  const asFault = ({ message }: { readonly message: string }) =>
    new InvalidInput({ faults: [{ pointer: "/snippets", detail: message }] })
  return dryRun
    ? Effect.map(snippets.checkAll(org, inputs), (ids) => ids.map((id) => ({ id, proposed: false })))
    : snippets.saveAll(org, inputs).pipe(
      Effect.map((saved) => saved.map(({ id, isProposed }) => ({ id, proposed: isProposed }))),
      Effect.catchTags({ SnippetChanged: asFault, ProposalConflict: asFault }),
    )
}

/** Plans every template. Reads the stored templates page by page, and keeps only their revisions. */
const planner = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (org: OrgSlug, inputs: ReadonlyArray<TemplateInput>) {
    const revisions = new Map<string, number>()
    const plans = new Map<TemplateInput, TemplatePlan>()
    const room = new AuditRoom()
    const named = new Map(inputs.flatMap((input) => input.id === undefined ? [] : [[input.id as string, input]]))
    for (const page of yield* pagesOf(sql, org, [...named.keys()])) {
      for (const before of yield* readTemplates(sql, org, page)) {
        revisions.set(before.id, before.revision)
        const input = named.get(before.id)!
        plans.set(input, planTemplate(input, before, room))
        yield* letOthersRun
      }
    }
    for (const input of inputs) {
      if (plans.has(input)) continue
      plans.set(input, planTemplate(input, undefined, room))
      if ((input.variants ?? []).length > 50) yield* letOthersRun
    }
    return { plans: inputs.map((input) => plans.get(input)!), revisions }
  })

/** The rows that a plan writes. */
interface Planned {
  /** The ids of all templates of the plan. */
  readonly ids: ReadonlyArray<string>
  /** The revisions of the existing templates, as planned. */
  readonly revisions: ReadonlyMap<string, number>
  readonly created: ReadonlyArray<{ readonly template: TemplateContent }>
  readonly updated: ReadonlyArray<{ readonly template: TemplateContent }>
  readonly variants: ReadonlyArray<VariantContent & { readonly template_id: string }>
}

/** Writes the rows of a plan. Fails with `Moved` if a template was changed since, and `InvalidInput` for a missing snippet. */
const writePlanned = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  { created, ids, revisions, updated, variants }: Planned,
  now: Date,
) {
  yield* existingOrganization(sql, org)
  const existing = yield* lockTemplates(sql, org, ids)
  if (existing.length !== revisions.size || existing.some(({ id, revision }) => revisions.get(id) !== revision)) {
    return yield* new Moved()
  }
  yield* holdSnippets(sql, org, variants)
  if (created.length > 0) {
    const added = yield* insertTemplates(sql, org, created.map(({ template }) => template), now)
    if (added.length !== created.length) return yield* new Moved()
  }
  if (updated.length > 0) yield* updateTemplates(sql, org, updated.map(({ template }) => template), now)
  if (variants.length > 0) yield* putVariants(sql, org, variants, now)
})

/** Returns the new owners of plans that are members. */
const newMembers = (sql: SqlClient.SqlClient, org: OrgSlug, plans: ReadonlyArray<TemplatePlan>) => {
  const owners = plans.flatMap((one) => one.outcome === "unchanged" ? [] : one.newOwner ?? [])
  return owners.length === 0 ? Effect.succeed(new Set<string>()) : memberEmails(sql, org, [...new Set(owners)])
}

/** Returns the faults, relative to the stored templates, of the templates without faults of their own. */
const storedFaultsOf = (sql: SqlClient.SqlClient, plan: ReturnType<typeof planner>) =>
  Effect.fnUntraced(
    function* (org: OrgSlug, templates: ReadonlyArray<TemplateInput | null>) {
      const sound = templates.flatMap((input, index) => input === null ? [] : [{ input, index }])
      const { plans } = yield* plan(org, sound.map(({ input }) => input))
      return planFaults(plans, yield* newMembers(sql, org, plans), (at) => sound[at]!.index)
    },
    Effect.catchTag("SqlError", Effect.die),
  )

/** Imports parsed JSON. `placed` returns a fault or warning at the place that the author knows. */
type ImportPlaced = (
  org: OrgSlug,
  json: unknown,
  dryRun: boolean,
  placed: (fault: Fault) => Fault,
) => Effect.Effect<Imported, OrganizationNotFound | InvalidInput | ChecksBusy | ChangeProposed>

/** Imports copy as CSV. */
const copyImporter = (sql: SqlClient.SqlClient, checking: Checking["Service"], importPlaced: ImportPlaced) =>
  Effect.fn("TemplateImports.importCopy")(
    function* (org: OrgSlug, csv: string, { dryRun = false }: ImportOptions = {}) {
      const { faults, rows, warnings } = yield* checking.run(org, "copy", { text: csv }).pipe(
        Effect.catchTag(
          "WorkFailed",
          (failure) => new InvalidInput({ faults: [{ pointer: "/csv", detail: stopped(stoppedFault(failure)) }] }),
        ),
      )
      if (faults.length > 0) return yield* new InvalidInput({ faults })
      const names = [...new Set(rows.map(({ template }) => template))]
      const ids = yield* sql<{ readonly id: string }>`
      SELECT t.id FROM templates t WHERE t.org_slug = ${org}
        AND (t.id = ANY(${names.flatMap(possibleIds)}::text[]) OR t.name = ANY(${names}::text[]))`
      const stored: Array<Template> = []
      for (const page of yield* pagesOf(sql, org, ids.map(({ id }) => id))) {
        stored.push(...yield* readTemplates(sql, org, page))
      }
      const inputs = copyInputs(rows, stored)
      if (inputs.faults.length > 0) return yield* new InvalidInput({ faults: inputs.faults })
      yield* tellWarnings(warnings)
      return yield* importPlaced(org, { templates: inputs.templates }, dryRun, inputs.placed)
    },
    Effect.catchTag("SqlError", Effect.die),
  )

/** Imports the strings of a template. */
const stringsImporter = (sql: SqlClient.SqlClient, checking: Checking["Service"], importPlaced: ImportPlaced) =>
  Effect.fn("TemplateImports.importStrings")(
    function* (org: OrgSlug, id: string, text: string, { dryRun = false }: ImportOptions = {}) {
      const template = (yield* readTemplates(sql, org, [id]))[0] ?? (yield* new TemplateNotFound({ id }))
      const translated = yield* checking.run(org, "strings", { template, text }).pipe(
        Effect.catchTag(
          "WorkFailed",
          (failure) =>
            Effect.succeed({ faults: [{ pointer: "", detail: `${stoppedFault(failure)}: send fewer locales` }] }),
        ),
      )
      if ("faults" in translated) return yield* new InvalidInput({ faults: translated.faults })
      const { variants } = translated
      const templates = [inputOf({ ...template, variants })]
      const imported = yield* importPlaced(org, { templates }, dryRun, (fault) => atTranslation(translated, fault))
      return { ...imported, variants: imported.changes.length === 0 ? 0 : variants.length }
    },
    Effect.catchTag("SqlError", Effect.die),
  )

/**
 * Brings templates to the state that an import describes, all or nothing: missing templates are created, existing ones
 * changed, and variants that the import does not name stay unchanged. Limits: 1,000 templates and 2,000 variants. An
 * import is decoded and checked in the checking process, and written by a few statements in one transaction.
 *
 * Fails with every fault, up to 1,000, with `ChecksBusy`, and with `ChangeProposed` if approval is on and the import
 * affects live messages. In the last case, each template that differs becomes a proposal. A broken store is a defect.
 */
export class TemplateImports extends Context.Service<TemplateImports, {
  /**
   * Imports a parsed JSON body, `{"templates": […]}`. Fails with `OrganizationNotFound` for an unknown organization,
   * `InvalidInput` with every fault of invalid content, and `ChecksBusy` if too many checks are waiting.
   */
  readonly importJson: (
    org: OrgSlug,
    json: unknown,
    options?: ImportOptions,
  ) => Effect.Effect<Imported, OrganizationNotFound | InvalidInput | ChecksBusy | ChangeProposed>
  /**
   * Imports copy as CSV: see `readCopy`. Changes only the variables that it names, and creates missing templates and
   * inactive variants. Fails with `OrganizationNotFound` for an unknown organization, `InvalidInput` with every fault
   * at its row and column, and `ChecksBusy` if too many checks are waiting.
   */
  readonly importCopy: (
    org: OrgSlug,
    csv: string,
    options?: ImportOptions,
  ) => Effect.Effect<Imported, OrganizationNotFound | InvalidInput | ChecksBusy | ChangeProposed>
  /**
   * Imports the translations of a template as CSV or XLIFF: see `applyTranslations`. Returns also the number of variants
   * with translations. Fails with `TemplateNotFound`, with `InvalidInput` and every fault at its line, and with
   * `ChecksBusy` if too many checks are waiting.
   */
  readonly importStrings: (
    org: OrgSlug,
    template: string,
    text: string,
    options?: ImportOptions,
  ) => Effect.Effect<
    Imported & { readonly variants: number },
    OrganizationNotFound | TemplateNotFound | InvalidInput | ChecksBusy | ChangeProposed
  >
  /**
   * Imports a template file: see `TemplateFile.readFile`. Fails with `OrganizationNotFound` for an unknown
   * organization, `FileRefused` with every fault of an invalid file, and `ChecksBusy` if too many checks are waiting.
   */
  readonly importFile: (
    org: OrgSlug,
    text: string,
    options?: ImportOptions,
  ) => Effect.Effect<Imported, OrganizationNotFound | FileRefused | ChecksBusy | ChangeProposed>
  /**
   * Imports decoded templates. Fails with `OrganizationNotFound` for an unknown organization, `InvalidInput` with every
   * fault of invalid content, and `ChecksBusy` if too many checks are waiting.
   */
  readonly importAll: (
    org: OrgSlug,
    inputs: ReadonlyArray<TemplateInput>,
  ) => Effect.Effect<Imported, OrganizationNotFound | InvalidInput | ChecksBusy | ChangeProposed>
}>()("parlance/templates/TemplateImports") {
  static readonly layer = Layer.effect(
    TemplateImports,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const changes = yield* Changes
      const checking = yield* Checking
      const snippetStore = yield* Snippets
      const sources = yield* SourceCheck
      const write = contentWriter(sql, changes)
      const plan = planner(sql)

      const execute = Effect.fnUntraced(function* (
        org: OrgSlug,
        inputs: ReadonlyArray<TemplateInput>,
        now: Date,
        dryRun: boolean,
      ) {
        const { plans, revisions } = yield* plan(org, inputs)
        const faults = planFaults(plans, yield* newMembers(sql, org, plans))
        if (faults.length > 0) return yield* new InvalidInput({ faults })
        const created = plans.flatMap((one) => one.outcome === "created" ? [one] : [])
        const updated = plans.flatMap((one) => one.outcome === "updated" ? [one] : [])
        const variants = [...created, ...updated].flatMap(({ id, variants }) =>
          variants.map((variant) => ({ ...variant, template_id: id }))
        )
        const by = (outcome: string) => plans.filter((one) => one.outcome === outcome).map(({ id }) => id)
        const imported: Imported = {
          created: by("created"),
          updated: by("updated"),
          unchanged: by("unchanged"),
          snippets: [],
          relearned: updated.filter(({ relearns }) => relearns).map(({ id }) => id),
          changes: changesOf(plans),
        }
        if (dryRun || imported.changes.length === 0) return imported
        const ids = [...new Set([...revisions.keys(), ...created.map(({ id }) => id)])]
        yield* write(
          org,
          ids,
          writePlanned(sql, org, { ids, revisions, created, updated, variants }, now),
          { onLive: true }, // like the plan
        ).pipe(Effect.catchTag("ChangeProposed", waiting(imported)))
        yield* tellApart({ by: "import" })
        yield* tellAll(plans.flatMap((one) =>
          one.outcome === "unchanged" ? [] : [{
            kind: "template" as const,
            subject: one.id,
            what: one.outcome === "created" ? "created" as const : "changed" as const,
            difference: one.difference,
          }]
        ))
        return imported
      })

      const store = Effect.fn("TemplateImports.store")(
        function* (
          org: OrgSlug,
          inputs: ReadonlyArray<TemplateInput>,
          snippets: ReadonlyArray<SnippetFileInput>,
          dryRun = false,
        ) {
          const now = yield* DateTime.nowAsDate
          yield* existingOrganization(sql, org)
          const executed = (dryRun: boolean) =>
            execute(org, inputs, now, dryRun).pipe(
              Effect.retry({ times: maxReplans, while: (error) => error._tag === "Moved" }),
              Effect.catchTag("Moved", () => new ChecksBusy({})),
            )
          if (snippets.length === 0) return yield* executed(dryRun)
          // Finds the faults of the templates before a snippet is saved.
          const planned = yield* executed(true)
          const changed = yield* saveSnippets(snippetStore, org, snippets, dryRun)
          return { ...(dryRun ? planned : yield* executed(false)), snippets: changed }
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      const storedFaults = storedFaultsOf(sql, plan)

      const importPlaced: ImportPlaced = Effect.fnUntraced(function* (
        org: OrgSlug,
        json: unknown,
        dryRun: boolean,
        placed: (fault: Fault) => Fault,
      ) {
        yield* Effect.catchTag(existingOrganization(sql, org), "SqlError", Effect.die)
        const body = JSON.stringify(json)
        const snippets = yield* readSnippetsIn(sql, org, body)
        const { compiled, faults, snippets: own, templates, warnings } = yield* checking.run(org, "import", {
          body,
          snippets,
        }).pipe(
          Effect.catchTag("WorkFailed", stoppedJson),
        )
        if (faults.length > 0) {
          return yield* new InvalidInput({
            faults: [...faults, ...yield* storedFaults(org, templates)].map(placed),
          })
        }
        yield* tellWarnings(warnings.map(placed))
        if (!dryRun) yield* keepCompiled(sql, org, compiled)
        return yield* store(org, whole(templates), own, dryRun)
      })

      const importJson = Effect.fn("TemplateImports.importJson")(
        (org: OrgSlug, json: unknown, { dryRun = false }: ImportOptions = {}) =>
          importPlaced(org, json, dryRun, (fault) => fault),
      )
      const importCopy = copyImporter(sql, checking, importPlaced)
      const importStrings = stringsImporter(sql, checking, importPlaced)

      const importFile = Effect.fn("TemplateImports.importFile")(function* (
        org: OrgSlug,
        text: string,
        { dryRun = false }: ImportOptions = {},
      ) {
        const snippets = yield* readSnippetsIn(sql, org, text)
        const { compiled, faults, snippets: own, templates, warnings } = yield* checking.run(org, "file", {
          text,
          snippets,
        }).pipe(
          Effect.catchTag("WorkFailed", stoppedFile),
        )
        if (faults.length > 0) {
          return yield* new FileRefused({
            faults: [...faults, ...(yield* storedFaults(org, templates)).map(placed)],
          })
        }
        yield* tellWarnings(warnings.map(unplaced))
        if (!dryRun) yield* keepCompiled(sql, org, compiled)
        return yield* Effect.catchTag(
          store(org, whole(templates), own, dryRun),
          "InvalidInput",
          ({ faults }) => new FileRefused({ faults: faults.map(placed) }),
        )
      })

      const importAll = Effect.fn("TemplateImports.importAll")(
        function* (org: OrgSlug, inputs: ReadonlyArray<TemplateInput>) {
          const variants = inputs.flatMap(({ variants = [] }) => variants)
          const attached = yield* Effect.orDie(withSnippets(sql, org, inputs.flatMap(sourcesOf)))
          const liquid = yield* sources.checkAll(org, attached)
          const found = new Map(variants.map((variant, index) => [variant, liquid[index]!]))
          const faults = [...sizeFaults(inputs), ...inputFaults(inputs, (variant) => found.get(variant)?.faults ?? [])]
          if (faults.length > 0) return yield* new InvalidInput({ faults })
          yield* keepCompiled(sql, org, liquid.flatMap(({ compiled }) => compiled))
          return yield* store(org, inputs, [])
        },
      )

      return TemplateImports.of({ importJson, importCopy, importStrings, importFile, importAll })
    }),
  )
}
