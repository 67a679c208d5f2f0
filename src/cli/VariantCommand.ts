import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { CopyId } from "../domain/Ids.ts"
import { type Variant, VariantInput, VariantPatch, VariantSwitch } from "../domain/Template.ts"
import type { PreviewBody } from "../api/templates/VariantsApi.ts"
import { differenceText } from "./DraftCommand.ts"
import { ManagementClient } from "./Connection.ts"
import { argument, given, switchable, template, text, texts, toggle } from "./Flags.ts"
import { bodyOf, decodeInput, readJson, readJsonFlag, readText } from "./Inputs.ts"
import { organizationCommand } from "./ManagementCommand.ts"
import { isProposed, organization, print, printProposed } from "./Root.ts"
import { percent } from "./ResultsText.ts"
import { type TableColumns, tableOf } from "./Table.ts"

const variant = argument("variant", "The variant's id")

const columns: TableColumns<Variant> = {
  id: "id",
  name: "name",
  active: "active",
  variables: ({ vars }) => Object.keys(vars).join(" "),
  conditions: ({ targeting }) => targeting.length,
  seasons: ({ seasons }) => seasons.length,
  updated: "updated_at",
}

const content = {
  name: text("name", "Display name"),
  vars: Flag.KeyValuePair("var").pipe(
    Flag.withDescription('A variable as name=Liquid, such as subject="Hi {{ name }}"; repeat for several'),
    Flag.optional,
  ),
  formats: Flag.KeyValuePair("format").pipe(
    Flag.withDescription("A variable's format as name=html or name=text; repeat for several"),
    Flag.optional,
  ),
  active: switchable("active", "Whether the variant is served. --no-active deactivates it"),
  targeting: text("targeting", 'Conditions as JSON, such as [{"attribute":"tier","op":"is","values":["gold"]}]'),
  seasons: text("seasons", 'Seasons as JSON, such as [{"annual":{"from":"11-15","to":"01-06"}}]'),
  components: text("components", 'Components as JSON, such as {"subject":"question","image":"shoe"}'),
  file: text("file", "The whole variant as a JSON file, - for standard input. Other flags override it"),
}

const contentOf = Effect.fnUntraced(function* (flags: Command.Command.Config.Infer<typeof content>) {
  const { active, components, file, formats, name, seasons, targeting, vars } = flags
  const base = Option.isSome(file) ? yield* readJson("--file", yield* readText(file.value)) : {}
  return {
    ...(base as object),
    ...given({
      name,
      vars,
      formats,
      active,
      targeting: yield* readJsonFlag("--targeting", targeting),
      components: yield* readJsonFlag("--components", components),
      seasons: yield* readJsonFlag("--seasons", seasons),
    }),
  }
})

const list = organizationCommand({
  name: "list",
  description: "List the variants of a template",
  flags: { template },
  call: (client, { org, template }) => client.templates.getTemplate({ params: { org, template } }),
  result: ({ variants }) => variants,
}).table(columns)

const show = organizationCommand({
  name: "show",
  description: "Show a variant",
  flags: { template, variant },
  call: (client, { org, template, variant }) => client.variants.getVariant({ params: { org, template, variant } }),
}).text((variant) => JSON.stringify(variant, null, 2))

const create = organizationCommand({
  name: "create",
  description: "Add a variant",
  examples: ['parlance variant create welcome warm --var subject="Hi {{ name }}"'],
  flags: { template, id: Argument.String("variant").pipe(Argument.optional), ...content },
  payload: ({ id, template: _, ...flags }) =>
    Effect.flatMap(contentOf(flags), (content) => decodeInput(VariantInput, { ...content, ...given({ id }) })),
  call: (client, { org, payload, template }) => client.variants.createVariant({ params: { org, template }, payload }),
}).change(({ id }) => `Created variant ${id}`)

const base = text(
  "base",
  "updated_at of the version you have seen: refused if somebody has saved the variant since",
)

const matching = (base: Option.Option<string>) => Option.isSome(base) ? { "if-match": `"${base.value}"` } : {}

const update = organizationCommand({
  name: "update",
  description: "Change a variant. Omitted options keep their values",
  flags: { template, variant, base, ...content },
  payload: (flags) => Effect.flatMap(contentOf(flags), (content) => decodeInput(VariantPatch, content)),
  call: (client, { base, org, payload, template, variant }) =>
    client.variants.updateVariant({ params: { org, template, variant }, headers: matching(base), payload }),
}).change((variant) => tableOf(columns, [variant]))

const ship = organizationCommand({
  name: "ship",
  description: "Send all traffic to one variant: activate it and deactivate all others",
  examples: ["parlance variant ship welcome warm"],
  flags: { template, variant },
  call: (client, { org, template, variant }) =>
    Effect.gen(function* () {
      const params = { org, template }
      const { variants } = yield* client.templates.getTemplate({ params })
      const others = variants.filter(({ active, id }) => active && id !== variant).map(({ id }) => id)
      const payload = { activate: [CopyId.make(variant)], deactivate: others }
      return { changed: yield* client.variants.switchVariants({ params, payload }), others }
    }),
  result: ({ changed }) => changed,
}).change((_, { template, variant }, { others }) => {
  const undo = others.map((id) => ` --activate ${JSON.stringify(id)}`).join("")
  return others.length === 0
    ? `${variant} is the only active variant`
    : `${variant} gets all traffic. To undo it: parlance variant switch ${template}${undo}`
})

const switchSeveral = organizationCommand({
  name: "switch",
  description: "Activate and deactivate variants at once. Variants that are not named stay as they are",
  examples: ["parlance variant switch welcome --deactivate cold --deactivate long"],
  flags: {
    template,
    activate: texts("activate", "A variant to activate; repeat for several"),
    deactivate: texts("deactivate", "A variant to deactivate; repeat for several"),
  },
  payload: ({ activate, deactivate }) => decodeInput(VariantSwitch, { activate, deactivate }),
  call: (client, { org, payload, template }) => client.variants.switchVariants({ params: { org, template }, payload }),
}).change(({ variants }) => tableOf(columns, variants))

const stopLosers = Command.make(
  "stop-losers",
  {
    template,
    dryRun: toggle("dry-run", "List the variants without deactivating them"),
  },
  Effect.fnUntraced(function* ({ dryRun, template }) {
    const client = yield* ManagementClient
    const params = { org: yield* organization, template }
    const { variants, winner } = yield* client.results.templateResults({ params, query: {} })
    const losers = winner.losers.map((id) => variants.find(({ copy_id }) => copy_id === id)!)
    if (losers.length === 0) {
      return yield* print({ losers: [] }, "No variant is surely worse than the leader. No changes.")
    }
    if (!dryRun) {
      const changed = yield* client.variants.switchVariants({
        params,
        payload: { deactivate: winner.losers.map((id) => CopyId.make(id)) },
      })
      if (isProposed(changed)) return yield* printProposed(changed)
    }
    const listed = tableOf({
      variant: "copy_id",
      "chance to be best": ({ p_best }) => percent(p_best ?? 0),
      "loss if shipped": ({ expected_loss }) => percent(expected_loss ?? 0),
    }, losers)
    yield* print(
      { losers: winner.losers, deactivated: !dryRun },
      `${dryRun ? "Surely worse than" : "Deactivated, surely worse than"} ${winner.leader}:\n${listed}`,
    )
  }),
).pipe(Command.withDescription("Deactivate the variants that are surely worse than the leader"))

const remove = organizationCommand({
  name: "delete",
  description: "Delete a variant",
  flags: { template, variant },
  call: (client, { org, template, variant }) => client.variants.deleteVariant({ params: { org, template, variant } }),
  result: (proposed, { variant }) => proposed ?? { id: variant, deleted: true },
}).change((_, { variant }) => `Deleted variant ${variant}`)

const json = (name: string) => Flag.String(name).pipe(Flag.withDescription("A JSON object"), Flag.withDefault("{}"))

const preview = organizationCommand({
  name: "preview",
  description: "Render a variant with sample fields, and show which variants are eligible for the attributes",
  flags: {
    template,
    variant: Argument.String("variant").pipe(Argument.optional),
    fields: json("fields"),
    attrs: json("attrs"),
    user: text("user", "Show whether this user is in the holdout"),
  },
  payload: ({ attrs, fields, user, variant }) =>
    Effect.gen(function* () {
      return bodyOf<typeof PreviewBody.Type>({
        ...given({ copy_id: variant, user_id: user }),
        fields: yield* readJson("--fields", fields),
        attrs: yield* readJson("--attrs", attrs),
      })
    }),
  call: (client, { org, payload, template }) => client.variants.preview({ params: { org, template }, payload }),
}).text(({ held_out, variants, vars, warnings = [] }) =>
  [
    ...Object.entries(vars ?? {}).map(([name, text]) => `${name}:\n${text}\n`),
    ...warnings.map(({ column, line, message, variable }) =>
      `warning: ${variable}, line ${line}, column ${column}: ${message}\n`
    ),
    tableOf({ variant: "id", eligible: "eligible", reason: ({ reason }) => reason ?? "" }, variants),
    ...(held_out === undefined ? [] : [`The user is ${held_out ? "" : "not "}held out`]),
  ].join("\n")
)

const versions = organizationCommand({
  name: "versions",
  description: "List the versions of a variant, newest first",
  flags: { template, variant },
  call: (client, { org, template, variant }) =>
    client.drafts.listVersions({ params: { org, template, variant }, query: { limit: "200" } }),
  result: ({ versions }) => versions,
}).table({ version: "id", saved: "saved_at", author: ({ author }) => author ?? "", name: "name" })

const version = argument("version", "The version's number")

const showVersion = organizationCommand({
  name: "version",
  description: "Show what restoring a version changes. --json prints its content",
  flags: { template, variant, version },
  call: (client, { org, template, variant, version }) =>
    client.drafts.getVersion({ params: { org, template, variant, version } }),
}).text(({ changes }) => `Restoring this version changes:\n${differenceText(changes)}`)

const restore = organizationCommand({
  name: "restore",
  description: "Restore the content of an earlier version of a variant",
  flags: { template, variant, version, base },
  call: (client, { base, org, template, variant, version }) =>
    client.drafts.restoreVersion({ params: { org, template, variant, version }, headers: matching(base) }),
}).text(({ id }, { version }) => `Restored version ${version} of variant ${id}`)

/** `parlance variant …` */
export const variantCommand = Command.make("variant").pipe(
  Command.withDescription("Variants of a template"),
  Command.withSubcommands([
    list,
    show,
    create,
    update,
    ship,
    switchSeveral,
    stopLosers,
    remove,
    preview,
    versions,
    showVersion,
    restore,
  ]),
)
