import { Effect } from "effect"
import { Argument, Flag } from "effect/cli"
import { CopyId } from "../domain/Ids.ts"
import { sourceName } from "../text/TextFaults.ts"
import { type Variant, VariantInput, VariantPatch } from "../domain/Template.ts"
import { VariantSwitch } from "../domain/TemplateSwitches.ts"
import { call, callWith, commandGroup, steps } from "./ApiCommand.ts"
import { differenceText } from "./DraftCommand.ts"
import { argument, json, parsed, switchable, template, text, texts, toggle } from "./Flags.ts"
import { readJson, readText } from "./Inputs.ts"
import { percent } from "./ResultsText.ts"
import { isProposed, organization } from "./Root.ts"
import { type TableColumns, tableOf } from "./Table.ts"

const variant = argument("variant", "The variant's id")

const columns: TableColumns<Variant> = {
  id: "id",
  name: "name",
  active: "active",
  variables: ({ vars }) => Object.keys(vars).join(" "),
  locales: ({ locales }) => Object.keys(locales).join(" "),
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
    Flag.withDescription("A variable's format as name=text, name=html or name=mjml; repeat for several"),
    Flag.optional,
  ),
  locales: json("locales", 'Texts in other locales as JSON, such as {"de":{"subject":"Hallo {{ name }}"}}'),
  active: switchable("active", "Whether the variant is served. --no-active deactivates it"),
  targeting: json("targeting", 'Conditions as JSON, such as [{"attribute":"tier","op":"is","values":["gold"]}]'),
  seasons: json("seasons", 'Seasons as JSON, such as [{"annual":{"from":"11-15","to":"01-06"}}]'),
  components: json("components", 'Components as JSON, such as {"subject":"question","image":"shoe"}'),
  file: parsed(
    "file",
    "The whole variant as a JSON file, - for standard input. Other flags override it",
    (file) => Effect.flatMap(readText(file), (text) => readJson("--file", text)),
  ),
}

/** The members of a request: the content of the file, replaced by the values of other flags. */
const contentOf = ({ file, ...flags }: { readonly file: unknown }) => ({
  ...(file as object | undefined),
  ...Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined)),
})

const base = text("base", "updated_at of the version you have seen: refused if somebody has saved the variant since")

const sampleJson = (name: string) =>
  Flag.String(name).pipe(
    Flag.withDescription("A JSON object"),
    Flag.withDefault("{}"),
    Flag.map((text) => readJson(`--${name}`, text)),
  )

const version = argument("version", "The version's number")

/** `parlance variant …` */
export const variantCommand = commandGroup("variant", "Variants of a template", {
  list: call("getTemplate", "List the variants of a template", { template })
    .result(({ variants }) => variants)
    .table(columns),

  show: call("getVariant", "Show a variant", { template, variant }).text((variant) => JSON.stringify(variant, null, 2)),

  create: callWith("createVariant", "Add a variant", {
    template,
    id: Argument.String("variant").pipe(Argument.optional),
    ...content,
  }, contentOf).checks(VariantInput)
    .examples('parlance variant create welcome warm --var subject="Hi {{ name }}"')
    .change(({ id }) => `Created variant ${id}`),

  update: callWith("updateVariant", "Change a variant. Omitted options keep their values", {
    template,
    variant,
    "if-match": base,
    ...content,
  }, contentOf).checks(VariantPatch).change((variant) => tableOf(columns, [variant])),

  ship: steps(
    "Send all traffic to one variant: activate it and deactivate all others",
    { template, variant },
    function* (client, { template, variant }) {
      const params = { org: yield* organization, template }
      const { variants } = yield* client.getTemplate({ params })
      const others = variants.filter(({ active, id }) => active && id !== variant).map(({ id }) => id)
      const payload = { activate: [CopyId.make(variant)], deactivate: others }
      return { changed: yield* client.switchVariants({ params, payload }), others }
    },
  )
    .result(({ changed }) => changed)
    .examples("parlance variant ship welcome warm")
    .change((_, { template, variant }, { others }) => {
      const undo = others.map((id) => ` --activate ${JSON.stringify(id)}`).join("")
      return others.length === 0
        ? `${variant} is the only active variant`
        : `${variant} gets all traffic. To undo it: parlance variant switch ${template}${undo}`
    }),

  switch: call(
    "switchVariants",
    "Activate and deactivate variants at once. Variants that are not named stay as they are",
    {
      template,
      activate: texts("activate", "A variant to activate; repeat for several"),
      deactivate: texts("deactivate", "A variant to deactivate; repeat for several"),
    },
  ).checks(VariantSwitch)
    .examples("parlance variant switch welcome --deactivate cold --deactivate long")
    .change(({ variants }) => tableOf(columns, variants)),

  "stop-losers": steps("Deactivate the variants that are surely worse than the leader", {
    template,
    dryRun: toggle("dry-run", "List the variants without deactivating them"),
  }, function* (client, { dryRun, template }) {
    const params = { org: yield* organization, template }
    const { variants, winner } = yield* client.templateResults({ params, query: {} })
    const losers = winner.losers.map((id) => variants.find(({ copy_id }) => copy_id === id)!)
    const deactivate = winner.losers.map((id) => CopyId.make(id))
    const changed = dryRun || losers.length === 0
      ? undefined
      : yield* client.switchVariants({ params, payload: { deactivate } })
    const shown = losers.length === 0 ? { losers: [] } : { losers: winner.losers, deactivated: !dryRun }
    return { leader: winner.leader, losers, shown: isProposed(changed) ? changed : shown }
  })
    .result(({ shown }) => shown)
    .change((_, { dryRun }, { leader, losers }) =>
      losers.length === 0
        ? "No variant is surely worse than the leader. No changes."
        : `${dryRun ? "Surely worse than" : "Deactivated, surely worse than"} ${leader}:\n${
          tableOf({
            variant: "copy_id",
            "chance to be best": ({ p_best }) => percent(p_best ?? 0),
            "loss if shipped": ({ expected_loss }) => expected_loss === null ? "–" : percent(expected_loss),
          }, losers)
        }`
    ),

  delete: call("deleteVariant", "Delete a variant", { template, variant })
    .result((proposed, { variant }) => proposed ?? { id: variant, deleted: true })
    .change((_, { variant }) => `Deleted variant ${variant}`),

  preview: call(
    "preview",
    "Render a variant with sample fields, and show which variants are eligible for the attributes",
    {
      template,
      copy_id: Argument.String("variant").pipe(Argument.optional),
      fields: sampleJson("fields"),
      attrs: sampleJson("attrs"),
      locale: text("locale", "The locale to render, such as de-AT. Default: the locale in the fields or attributes"),
      user_id: text("user", "Show whether this user is in the holdout"),
    },
  ).text(({ checks = [], compiled = {}, held_out, locale, variants, vars, warnings = [] }) =>
    [
      ...(locale === undefined ? [] : [`Locale: ${locale}\n`]),
      ...Object.entries(vars ?? {}).map(([name, text]) => `${name}:\n${text}\n`),
      ...Object.entries(compiled).map(([name, bytes]) => `${name}: ${bytes} bytes of HTML, compiled from MJML\n`),
      ...checks.map(({ detail, status, variable }) =>
        `${status === "ok" ? "ok" : "warning"}: ${variable}: ${detail}\n`
      ),
      ...warnings.map((warning) =>
        `warning: ${sourceName(warning)}, line ${warning.line}, column ${warning.column}: ${warning.message}\n`
      ),
      tableOf({ variant: "id", eligible: "eligible", reason: ({ reason }) => reason ?? "" }, variants),
      ...(held_out === undefined ? [] : [`The user is ${held_out ? "" : "not "}held out`]),
    ].join("\n")
  ),

  versions: call("listVersions", "List the versions of a variant, newest first", { template, variant })
    .sends((values) => ({ ...values, limit: 200 }))
    .result(({ versions }) => versions)
    .table({ version: "id", saved: "saved_at", author: ({ author }) => author ?? "", name: "name" }),

  version: call("getVersion", "Show what restoring a version changes. --json prints its content", {
    template,
    variant,
    version,
  }).text(({ changes }) => `Restoring this version changes:\n${differenceText(changes)}`),

  restore: call("restoreVersion", "Restore the content of an earlier version of a variant", {
    template,
    variant,
    version,
    "if-match": base,
  }).text(({ id }, { version }) => `Restored version ${version} of variant ${id}`),
})
