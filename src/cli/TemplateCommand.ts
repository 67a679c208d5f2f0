import { Flag } from "effect/cli"
import { holdoutInput, holdoutText } from "../domain/Holdout.ts"
import { localeWords } from "../domain/Locale.ts"
import { Objective, type Template, TemplateInput, TemplatePatch } from "../domain/Template.ts"
import { trackingInput, trackingText } from "../domain/Tracking.ts"
import * as TemplateFile from "../templates/TemplateFile.ts"
import { allTemplates } from "./allTemplates.ts"
import { call, commandGroup, steps } from "./ApiCommand.ts"
import { list, number, parsed, switchable, template, text, toggle, truth } from "./Flags.ts"
import { organization } from "./Root.ts"
import { stringsCommand } from "./TranslationCommands.ts"
import { suggest, suggestions } from "./SuggestionCommands.ts"
import { type TableColumns, tableOf } from "./Table.ts"
import { changeMany, owner } from "./TemplateBatchCommand.ts"
import { convert } from "./TemplateCopyCommands.ts"
import { diff, exportFile, importFile } from "./TemplateFileCommands.ts"
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
  locale: ({ locale }) => localeWords(locale),
  "sticky hours": "sticky_hours",
  "runner-up": "runner_up_floor",
  goal: ({ objective }) => objectiveText(objective),
  conversions: ({ conversion_events }) => conversion_events.join(),
  "send nothing": "send_nothing",
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
  locale: parsed(
    "locale",
    "Attribute or field with the person's locale, and the locale of the texts in vars: attribute=language,default=en or " +
      "field=user.locale,default=en; one: texts in one locale",
    (text) => text === "one" ? null : Object.fromEntries(text.split(",").map((part) => part.split("=", 2))),
  ),
  sticky_hours: number("sticky-hours", "Hours for which a user keeps the same variant"),
  runner_up_floor: number(
    "runner-up-floor",
    "Minimum share of the second-best variant while a leader is close to winning, divided by the number of candidates, 0 to 0.2. " +
      "New templates have 0.1",
  ),
  objective: parsed(
    "objective",
    "The outcome to improve: click, open, conversion, or a mix such as click=1,conversion=5,negative=-2 or " +
      "revenue=1,revenue_cap=200",
    objectiveInput,
  ),
  send_nothing: truth(
    "send-nothing",
    "Whether a person can get nothing where a message is expected to do more harm than good; requires a cost in the " +
      "objective, such as click=1,negative=-8",
  ),
  holdout: parsed(
    "holdout",
    'Share of the people held out, 0 to 0.5, and their content: "0.05 even", "0.05 no_message", or "0.05 fixed ID" ' +
      "for a variant; organization: the default of the organization",
    (text) => text === "organization" ? null : holdoutInput(text),
  ),
  ignore_unsubscribes: switchable(
    "ignore-unsubscribes",
    "Transactional: its messages also go to people who have unsubscribed",
  ),
  tracking: parsed(
    "tracking",
    "Events measured in messages that Deliver sends: opens,clicks, opens, clicks or none; organization: the default of the organization",
    (text) => text === "organization" ? null : trackingInput(text),
  ),
  list_unsubscribe: truth(
    "list-unsubscribe",
    "Whether e-mails carry the header List-Unsubscribe with one-click unsubscribe",
  ),
  link_domains: list(
    "link-domain",
    'Domain whose links carry the tracking id, with its subdomains; may be repeated, replaces those set, "" for none',
  ),
  conversion_events: list(
    "conversion-event",
    'Name of an event that counts as a conversion; may be repeated, replaces those set, "" for none',
  ),
  tags: list("tag", 'Tag, by which lists are filtered; may be repeated, replaces those set, "" for none'),
  owner,
}

const setArchived = (description: string, archived: boolean) =>
  call("updateTemplate", description, { template }).sends((values) => ({ ...values, archived }))

/** `parlance template …` */
export const templateCommand = commandGroup("template", "Templates", {
  list: steps("List templates that are in use", {
    archived: archivedFlag,
    all: toggle("all", "Include archived templates"),
  }, function* (_, { all, archived }) {
    return yield* allTemplates(yield* organization, all ? "all" : archived ? "true" : "false")
  }).table(columns),
  find,

  show: call("getTemplate", "Show a template with its variants", { template })
    .text((template) => TemplateFile.format([TemplateFile.inputOf(template)], "yaml").trimEnd()),
  history,

  create: call("createTemplate", "Create a template without variants", {
    id: template,
    name: text("name", "Display name"),
    ...settings,
  }).sends((values) => ({ ...values, name: values.name ?? values.id }))
    .checks(TemplateInput)
    .change(({ id }) => `Created template ${id}`),

  update: call("updateTemplate", "Change a template's settings", {
    template,
    name: Flag.String("name").pipe(Flag.optional),
    ...settings,
  }).checks(TemplatePatch).change((template) => tableOf(columns, [template])),

  archive: setArchived("Stop serving a template. It keeps its content and its results", true)
    .change(({ id }) => `Archived template ${id}`),
  restore: setArchived("Restore an archived template, so that it is served again", false)
    .change(({ id }) => `Restored template ${id}`),
  change: changeMany,

  delete: call("deleteTemplate", "Delete a template with its variants", { template })
    .result((proposed, { template }) => proposed ?? { id: template, deleted: true })
    .change((_, { template }) => `Deleted template ${template} with its variants`),
  import: importFile,
  strings: stringsCommand,
  suggest,
  suggestions,
  convert,
  diff,
  export: exportFile,
})
