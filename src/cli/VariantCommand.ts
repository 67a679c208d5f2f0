import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { CopyId } from "../domain/Ids.ts"
import { type Variant, VariantInput, VariantPatch, VariantSwitch } from "../domain/Template.ts"
import type { PreviewBody } from "../api/Api.ts"
import { differenceText } from "./DraftCommand.ts"
import { ManagementClient } from "./Connection.ts"
import { bodyOf, decodeInput, readJson, readText } from "./Inputs.ts"
import { isProposed, organization, print, printChange } from "./Root.ts"
import { percent } from "./ResultsText.ts"
import { table } from "./Table.ts"

const template = Argument.String("template").pipe(Argument.withDescription("The template's id"))
const variant = Argument.String("variant").pipe(Argument.withDescription("The variant's id"))

const describe = (variants: ReadonlyArray<Variant>) =>
  table(
    ["id", "name", "active", "variables", "conditions", "seasons", "updated"],
    variants.map((one) => [
      one.id,
      one.name,
      one.active,
      Object.keys(one.vars).join(" "),
      one.targeting.length,
      one.seasons.length,
      one.updated_at,
    ]),
  )

const content = {
  name: Flag.String("name").pipe(Flag.withDescription("Display name"), Flag.optional),
  vars: Flag.KeyValuePair("var").pipe(
    Flag.withDescription('A variable as name=Liquid, such as subject="Hi {{ name }}"; repeat for several'),
    Flag.optional,
  ),
  formats: Flag.KeyValuePair("format").pipe(
    Flag.withDescription("A variable's format as name=html or name=text; repeat for several"),
    Flag.optional,
  ),
  active: Flag.Boolean("active").pipe(
    Flag.withDescription("Whether the variant is served. --no-active deactivates it"),
    Flag.optional,
  ),
  targeting: Flag.String("targeting").pipe(
    Flag.withDescription('Conditions as JSON, such as [{"attribute":"tier","op":"is","values":["gold"]}]'),
    Flag.optional,
  ),
  seasons: Flag.String("seasons").pipe(
    Flag.withDescription('Seasons as JSON, such as [{"annual":{"from":"11-15","to":"01-06"}}]'),
    Flag.optional,
  ),
  components: Flag.String("components").pipe(
    Flag.withDescription('Components as JSON, such as {"subject":"question","image":"shoe"}'),
    Flag.optional,
  ),
  file: Flag.String("file").pipe(
    Flag.withDescription("The whole variant as a JSON file, - for standard input. Other flags override it"),
    Flag.optional,
  ),
}

const contentOf = Effect.fnUntraced(function* (flags: {
  readonly name: Option.Option<string>
  readonly vars: Option.Option<Record<string, string>>
  readonly formats: Option.Option<Record<string, string>>
  readonly active: Option.Option<boolean>
  readonly targeting: Option.Option<string>
  readonly seasons: Option.Option<string>
  readonly components: Option.Option<string>
  readonly file: Option.Option<string>
}) {
  const base = Option.isSome(flags.file) ? yield* readJson("--file", yield* readText(flags.file.value)) : {}
  return {
    ...(base as object),
    ...(Option.isSome(flags.name) ? { name: flags.name.value } : {}),
    ...(Option.isSome(flags.vars) ? { vars: flags.vars.value } : {}),
    ...(Option.isSome(flags.formats) ? { formats: flags.formats.value } : {}),
    ...(Option.isSome(flags.active) ? { active: flags.active.value } : {}),
    ...(Option.isSome(flags.targeting) ? { targeting: yield* readJson("--targeting", flags.targeting.value) } : {}),
    ...(Option.isSome(flags.components) ? { components: yield* readJson("--components", flags.components.value) } : {}),
    ...(Option.isSome(flags.seasons) ? { seasons: yield* readJson("--seasons", flags.seasons.value) } : {}),
  }
})

const list = Command.make(
  "list",
  { template },
  Effect.fnUntraced(function* ({ template }) {
    const client = yield* ManagementClient
    const found = yield* client.templates.getTemplate({ params: { org: yield* organization, template } })
    yield* print(found.variants, describe(found.variants))
  }),
).pipe(Command.withDescription("List the variants of a template"))

const show = Command.make(
  "show",
  { template, variant },
  Effect.fnUntraced(function* ({ template, variant }) {
    const client = yield* ManagementClient
    const found = yield* client.variants.getVariant({ params: { org: yield* organization, template, variant } })
    yield* print(found, JSON.stringify(found, null, 2))
  }),
).pipe(Command.withDescription("Show a variant"))

const create = Command.make(
  "create",
  { template, id: Argument.String("variant").pipe(Argument.optional), ...content },
  Effect.fnUntraced(function* ({ id, template, ...flags }) {
    const client = yield* ManagementClient
    const payload = yield* decodeInput(VariantInput, {
      ...(yield* contentOf(flags)),
      ...(Option.isSome(id) ? { id: id.value } : {}),
    })
    const made = yield* client.variants.createVariant({ params: { org: yield* organization, template }, payload })
    yield* printChange(made, ({ id }) => `Created variant ${id}`)
  }),
).pipe(
  Command.withDescription("Add a variant"),
  Command.withExamples([{ command: 'parlance variant create welcome warm --var subject="Hi {{ name }}"' }]),
)

const base = Flag.String("base").pipe(
  Flag.withDescription("updated_at of the version you have seen: refused if somebody has saved the variant since"),
  Flag.optional,
)

const matching = (base: Option.Option<string>) => Option.isSome(base) ? { "if-match": `"${base.value}"` } : {}

const update = Command.make(
  "update",
  { template, variant, base, ...content },
  Effect.fnUntraced(function* ({ base, template, variant, ...flags }) {
    const client = yield* ManagementClient
    const payload = yield* decodeInput(VariantPatch, yield* contentOf(flags))
    const changed = yield* client.variants.updateVariant({
      params: { org: yield* organization, template, variant },
      headers: matching(base),
      payload,
    })
    yield* printChange(changed, (live) => describe([live]))
  }),
).pipe(Command.withDescription("Change a variant. Omitted options keep their values"))

const ship = Command.make(
  "ship",
  { template, variant },
  Effect.fnUntraced(function* ({ template, variant }) {
    const client = yield* ManagementClient
    const params = { org: yield* organization, template }
    const { variants } = yield* client.templates.getTemplate({ params })
    const others = variants.filter(({ active, id }) => active && id !== variant).map(({ id }) => id)
    const changed = yield* client.variants.switchVariants({
      params,
      payload: { activate: [CopyId.make(variant)], deactivate: others },
    })
    const undo = others.map((id) => ` --activate ${JSON.stringify(id)}`).join("")
    yield* printChange(
      changed,
      () =>
        others.length === 0
          ? `${variant} is the only active variant`
          : `${variant} gets all traffic. To undo it: parlance variant switch ${template}${undo}`,
    )
  }),
).pipe(
  Command.withDescription("Give all traffic to one variant: activate it and deactivate all others"),
  Command.withExamples([{ command: "parlance variant ship welcome warm" }]),
)

const ids = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(`${description}; repeat for several`), Flag.atLeast(0))

const switchSeveral = Command.make(
  "switch",
  {
    template,
    activate: ids("activate", "A variant to activate"),
    deactivate: ids("deactivate", "A variant to deactivate"),
  },
  Effect.fnUntraced(function* ({ activate, deactivate, template }) {
    const client = yield* ManagementClient
    const payload = yield* decodeInput(VariantSwitch, { activate, deactivate })
    const changed = yield* client.variants.switchVariants({ params: { org: yield* organization, template }, payload })
    yield* printChange(changed, ({ variants }) => describe(variants))
  }),
).pipe(
  Command.withDescription("Activate and deactivate variants at once. Variants that are not named stay as they are"),
  Command.withExamples([{ command: "parlance variant switch welcome --deactivate cold --deactivate long" }]),
)

const stopLosers = Command.make(
  "stop-losers",
  {
    template,
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("List the variants without deactivating them"),
      Flag.withDefault(false),
    ),
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
      if (isProposed(changed)) return yield* printChange(changed, () => "")
    }
    const listed = table(
      ["variant", "chance to be best", "loss if shipped"],
      losers.map(({ copy_id, expected_loss, p_best }) => [copy_id, percent(p_best ?? 0), percent(expected_loss ?? 0)]),
    )
    yield* print(
      { losers: winner.losers, deactivated: !dryRun },
      `${dryRun ? "Surely worse than" : "Deactivated, surely worse than"} ${winner.leader}:\n${listed}`,
    )
  }),
).pipe(Command.withDescription("Deactivate the variants that are surely worse than the leader"))

const remove = Command.make(
  "delete",
  { template, variant },
  Effect.fnUntraced(function* ({ template, variant }) {
    const client = yield* ManagementClient
    const proposed = yield* client.variants.deleteVariant({ params: { org: yield* organization, template, variant } })
    yield* printChange(proposed ?? { id: variant, deleted: true }, () => `Deleted variant ${variant}`)
  }),
).pipe(Command.withDescription("Delete a variant"))

const json = (name: string) => Flag.String(name).pipe(Flag.withDescription("A JSON object"), Flag.withDefault("{}"))

const preview = Command.make(
  "preview",
  {
    template,
    variant: Argument.String("variant").pipe(Argument.optional),
    fields: json("fields"),
    attrs: json("attrs"),
    user: Flag.String("user").pipe(Flag.withDescription("Show whether this user is in the holdout"), Flag.optional),
  },
  Effect.fnUntraced(function* ({ attrs, fields, template, user, variant }) {
    const client = yield* ManagementClient
    const payload = bodyOf<typeof PreviewBody.Type>({
      ...(Option.isSome(variant) ? { copy_id: variant.value } : {}),
      fields: yield* readJson("--fields", fields),
      attrs: yield* readJson("--attrs", attrs),
      ...(Option.isSome(user) ? { user_id: user.value } : {}),
    })
    const seen = yield* client.variants.preview({ params: { org: yield* organization, template }, payload })
    const rendered = Object.entries(seen.vars ?? {}).map(([name, text]) => `${name}:\n${text}\n`)
    const eligible = table(
      ["variant", "eligible", "reason"],
      seen.variants.map((one) => [one.id, one.eligible, one.reason ?? ""]),
    )
    const heldOut = seen.held_out === undefined ? [] : [`The user is ${seen.held_out ? "" : "not "}held out`]
    yield* print(seen, [...rendered, eligible, ...heldOut].join("\n"))
  }),
).pipe(
  Command.withDescription(
    "Render a variant with sample fields, and show which variants are eligible for the attributes",
  ),
)

const versions = Command.make(
  "versions",
  { template, variant },
  Effect.fnUntraced(function* ({ template, variant }) {
    const client = yield* ManagementClient
    const { versions } = yield* client.drafts.listVersions({
      params: { org: yield* organization, template, variant },
      query: { limit: "200" },
    })
    yield* print(
      versions,
      table(
        ["version", "saved", "author", "name"],
        versions.map((one) => [one.id, one.saved_at, one.author ?? "", one.name]),
      ),
    )
  }),
).pipe(Command.withDescription("List the versions of a variant, newest first"))

const version = Argument.String("version").pipe(Argument.withDescription("The version's number"))

const showVersion = Command.make(
  "version",
  { template, variant, version },
  Effect.fnUntraced(function* ({ template, variant, version }) {
    const client = yield* ManagementClient
    const found = yield* client.drafts.getVersion({
      params: { org: yield* organization, template, variant, version },
    })
    yield* print(found, `Restoring this version changes:\n${differenceText(found.changes)}`)
  }),
).pipe(Command.withDescription("Show what restoring a version changes. --json prints its content"))

const restore = Command.make(
  "restore",
  { template, variant, version, base },
  Effect.fnUntraced(function* ({ base, template, variant, version }) {
    const client = yield* ManagementClient
    const restored = yield* client.drafts.restoreVersion({
      params: { org: yield* organization, template, variant, version },
      headers: matching(base),
    })
    yield* print(restored, `Restored version ${version} of variant ${restored.id}`)
  }),
).pipe(Command.withDescription("Give a variant the content of an earlier version"))

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
