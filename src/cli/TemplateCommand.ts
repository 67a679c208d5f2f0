import { Option } from "effect"
import { Command, Flag } from "effect/cli"
import { holdoutInput, holdoutText } from "../domain/Holdout.ts"
import { Objective, type Template, TemplateInput, TemplatePatch } from "../domain/Template.ts"
import { trackingInput, trackingText } from "../domain/Tracking.ts"
import * as TemplateFile from "../templates/TemplateFile.ts"
import { allTemplates } from "./allTemplates.ts"
import { choice, given, number, switchable, template as id, text, texts, toggle } from "./Flags.ts"
import { decodeInput } from "./Inputs.ts"
import { organizationCommand } from "./ManagementCommand.ts"
import { type TableColumns, tableOf } from "./Table.ts"
import { diff, exportFile, importFile } from "./TemplateFileCommands.ts"
import { changeMany, ownerFlag, ownerInput } from "./TemplateBatchCommand.ts"
import { archivedFlag, find, history } from "./TemplateIndexCommands.ts"

const objectiveText = (objective: Objective) =>
  typeof objective === "string"
    ? objective
    : Object.entries(objective).map(([key, value]) => `${key} ${value}`).join(", ")

/** Parses the value of `--objective`. The service refuses a text of another form. */
const objectiveInput = (text: string): unknown =>
  text.includes("=")
    ? Object.fromEntries(
      text.split(",").map((part) => {
        const [name = "", weight = ""] = part.split("=").map((side) => side.trim())
        return [name, weight === "" ? weight : Number(weight)]
      }),
    )
    : text

const columns: TableColumns<Template> = {
  id: "id",
  name: "name",
  variants: ({ variants }) => variants.length,
  active: ({ variants }) => variants.filter(({ active }) => active).length,
  strict: "strict",
  "sticky hours": "sticky_hours",
  goal: ({ objective }) => objectiveText(objective),
  conversions: ({ conversion_events }) => conversion_events.join(),
  holdout: ({ holdout }) => holdout === null ? "organization" : holdoutText(holdout),
  tags: ({ tags }) => tags.join(),
  owner: ({ owner }) => owner ?? "no owner",
  unsubscribes: ({ ignore_unsubscribes }) => ignore_unsubscribes ? "ignored" : "respected",
  tracking: ({ tracking }) => tracking === null ? "organization" : trackingText(tracking),
  "list unsubscribe": "list_unsubscribe",
  updated: "updated_at",
  archived: ({ archived_at }) => archived_at ?? "no",
}

const settings = {
  strict: switchable("strict", "Fail if a field is missing instead of leaving it blank"),
  stickyHours: number("sticky-hours", "Hours for which a user keeps the same variant"),
  objective: text(
    "objective",
    "The outcome to improve: click, open, conversion, or a mix such as click=1,conversion=5,negative=-2 or " +
      "revenue=1,revenue_cap=200",
  ),
  holdout: text(
    "holdout",
    'Share of the people held out, 0 to 0.5, and their content: "0.05 even", "0.05 no_message", or "0.05 fixed ID" ' +
      "for a variant; organization: the default of the organization",
  ),
  ignoreUnsubscribes: switchable(
    "ignore-unsubscribes",
    "Transactional: its messages also go to people who have unsubscribed",
  ),
  tracking: text(
    "tracking",
    "Events measured in messages that Deliver sends: opens,clicks, opens, clicks or none; organization: the default of the organization",
  ),
  listUnsubscribe: choice(
    "list-unsubscribe",
    ["true", "false"],
    "Whether e-mails carry the header List-Unsubscribe with one-click unsubscribe",
  ),
  linkDomains: texts(
    "link-domain",
    'Domain whose links carry the tracking id, with its subdomains; may be repeated, replaces those set, "" for none',
  ),
  conversionEvents: texts(
    "conversion-event",
    'Name of an event that counts as a conversion; may be repeated, replaces those set, "" for none',
  ),
  tags: texts("tag", 'Tag, by which lists are filtered; may be repeated, replaces those set, "" for none'),
  owner: ownerFlag,
}

/** The values of a repeated flag, or `Option.none` without the flag. An empty value clears the list. */
const repeated = (values: ReadonlyArray<string>) =>
  values.length === 0 ? Option.none() : Option.some(values.filter((value) => value !== ""))

const settingsOf = (flags: Command.Command.Config.Infer<typeof settings>) => ({
  ...given({
    strict: flags.strict,
    sticky_hours: flags.stickyHours,
    objective: Option.map(flags.objective, objectiveInput),
    holdout: Option.map(flags.holdout, (text) => text === "organization" ? null : holdoutInput(text)),
    ignore_unsubscribes: flags.ignoreUnsubscribes,
    tracking: Option.map(flags.tracking, (text) => text === "organization" ? null : trackingInput(text)),
    list_unsubscribe: Option.map(flags.listUnsubscribe, (text) => text === "true"),
    link_domains: repeated(flags.linkDomains),
    conversion_events: repeated(flags.conversionEvents),
    tags: repeated(flags.tags),
  }),
  ...ownerInput(flags.owner),
})

const create = organizationCommand({
  name: "create",
  description: "Create a template without variants",
  flags: { id, name: text("name", "Display name"), ...settings },
  payload: ({ id, name, ...flags }) =>
    decodeInput(TemplateInput, { id, name: Option.getOrElse(name, () => id), ...settingsOf(flags) }),
  call: (client, { org, payload }) => client.templates.createTemplate({ params: { org }, payload }),
}).change(({ id }) => `Created template ${id}`)

const list = organizationCommand({
  name: "list",
  description: "List templates that are in use",
  flags: { archived: archivedFlag, all: toggle("all", "Include archived templates") },
  call: (_, { all, archived, org }) => allTemplates(org, all ? "all" : archived ? "true" : "false"),
}).table(columns)

const show = organizationCommand({
  name: "show",
  description: "Show a template with its variants",
  flags: { id },
  call: (client, { id, org }) => client.templates.getTemplate({ params: { org, template: id } }),
}).text((template) => TemplateFile.format([TemplateFile.inputOf(template)], "yaml").trimEnd())

const update = organizationCommand({
  name: "update",
  description: "Change a template's settings",
  flags: { id, name: Flag.String("name").pipe(Flag.optional), ...settings },
  payload: ({ id: _, name, ...flags }) => decodeInput(TemplatePatch, { ...given({ name }), ...settingsOf(flags) }),
  call: (client, { id, org, payload }) => client.templates.updateTemplate({ params: { org, template: id }, payload }),
}).change((template) => tableOf(columns, [template]))

const archive = organizationCommand({
  name: "archive",
  description: "Stop serving a template. It keeps its content and its results",
  flags: { id },
  call: (client, { id, org }) =>
    client.templates.updateTemplate({ params: { org, template: id }, payload: { archived: true } }),
}).change(({ id }) => `Archived template ${id}`)

const restore = organizationCommand({
  name: "restore",
  description: "Restore an archived template, so that it is served again",
  flags: { id },
  call: (client, { id, org }) =>
    client.templates.updateTemplate({ params: { org, template: id }, payload: { archived: false } }),
}).change(({ id }) => `Restored template ${id}`)

const remove = organizationCommand({
  name: "delete",
  description: "Delete a template with its variants",
  flags: { id },
  call: (client, { id, org }) => client.templates.deleteTemplate({ params: { org, template: id } }),
  result: (proposed, { id }) => proposed ?? { id, deleted: true },
}).change((_, { id }) => `Deleted template ${id} with its variants`)

/** `parlance template …` */
export const templateCommand = Command.make("template").pipe(
  Command.withDescription("Templates"),
  Command.withSubcommands([
    list,
    find,
    show,
    history,
    create,
    update,
    archive,
    restore,
    changeMany,
    remove,
    importFile,
    diff,
    exportFile,
  ]),
)
