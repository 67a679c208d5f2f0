import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { holdoutInput, holdoutText } from "../domain/Holdout.ts"
import { Objective, type Template, TemplateInput, TemplatePatch } from "../domain/Template.ts"
import { trackingInput, trackingText } from "../domain/Tracking.ts"
import * as TemplateFile from "../templates/TemplateFile.ts"
import { allTemplates } from "./allTemplates.ts"
import { ManagementClient } from "./Connection.ts"
import { decodeInput } from "./Inputs.ts"
import { organization, print, printChange } from "./Root.ts"
import { table } from "./Table.ts"
import { diff, exportFile, importFile } from "./TemplateFileCommands.ts"
import { changeMany, ownerFlag, ownerInput } from "./TemplateBatchCommand.ts"
import { archivedFlag, find, history } from "./TemplateIndexCommands.ts"

const objectiveText = (objective: Objective) =>
  typeof objective === "string"
    ? objective
    : Object.entries(objective).map(([key, value]) => `${key} ${value}`).join(", ")

/** Parses an objective as the flag takes it; a text of another form is refused. */
const objectiveInput = (text: string): unknown =>
  text.includes("=")
    ? Object.fromEntries(
      text.split(",").map((part) => {
        const [name = "", weight = ""] = part.split("=").map((side) => side.trim())
        return [name, weight === "" ? weight : Number(weight)]
      }),
    )
    : text

const describe = (templates: ReadonlyArray<Template>) =>
  table(
    [
      "id",
      "name",
      "variants",
      "active",
      "strict",
      "sticky hours",
      "goal",
      "conversions",
      "holdout",
      "tags",
      "owner",
      "unsubscribes",
      "tracking",
      "list unsubscribe",
      "updated",
      "archived",
    ],
    templates.map((template) => [
      template.id,
      template.name,
      template.variants.length,
      template.variants.filter(({ active }) => active).length,
      template.strict,
      template.sticky_hours,
      objectiveText(template.objective),
      template.conversion_events.join(),
      template.holdout === null ? "organization" : holdoutText(template.holdout),
      template.tags.join(),
      template.owner ?? "no owner",
      template.ignore_unsubscribes ? "ignored" : "respected",
      template.tracking === null ? "organization" : trackingText(template.tracking),
      template.list_unsubscribe,
      template.updated_at,
      template.archived_at ?? "no",
    ]),
  )

const id = Argument.String("template").pipe(Argument.withDescription("The template's id"))

const settings = {
  strict: Flag.Boolean("strict").pipe(
    Flag.withDescription("Fail if a field is missing instead of leaving it blank"),
    Flag.optional,
  ),
  stickyHours: Flag.Finite("sticky-hours").pipe(
    Flag.withDescription("Hours for which a user keeps the same variant"),
    Flag.optional,
  ),
  objective: Flag.String("objective").pipe(
    Flag.withDescription(
      "The outcome to improve: click, open, conversion, or a mix such as click=1,conversion=5,negative=-2 or " +
        "revenue=1,revenue_cap=200",
    ),
    Flag.optional,
  ),
  holdout: Flag.String("holdout").pipe(
    Flag.withDescription(
      'Share of the people held out, 0 to 0.5, and their content: "0.05 even", "0.05 no_message", or "0.05 fixed ID" ' +
        "for a variant; organization: the default of the organization",
    ),
    Flag.optional,
  ),
  ignoreUnsubscribes: Flag.Boolean("ignore-unsubscribes").pipe(
    Flag.withDescription("Transactional: its messages also go to people who have unsubscribed"),
    Flag.optional,
  ),
  tracking: Flag.String("tracking").pipe(
    Flag.withDescription(
      "Events measured in messages that Deliver sends: opens,clicks, opens, clicks or none; organization: the default of the organization",
    ),
    Flag.optional,
  ),
  listUnsubscribe: Flag.Literals("list-unsubscribe", ["true", "false"]).pipe(
    Flag.withDescription("Whether e-mails carry the header List-Unsubscribe with one-click unsubscribe"),
    Flag.optional,
  ),
  linkDomains: Flag.String("link-domain").pipe(
    Flag.withDescription(
      'Domain whose links carry the tracking id, with its subdomains; may be repeated, replaces those set, "" for none',
    ),
    Flag.atLeast(0),
  ),
  conversionEvents: Flag.String("conversion-event").pipe(
    Flag.withDescription(
      'Name of an event that counts as a conversion; may be repeated, replaces those set, "" for none',
    ),
    Flag.atLeast(0),
  ),
  tags: Flag.String("tag").pipe(
    Flag.withDescription('Tag, by which lists are filtered; may be repeated, replaces those set, "" for none'),
    Flag.atLeast(0),
  ),
  owner: ownerFlag,
}

const settingsOf = (flags: {
  readonly strict: Option.Option<boolean>
  readonly stickyHours: Option.Option<number>
  readonly objective: Option.Option<string>
  readonly holdout: Option.Option<string>
  readonly ignoreUnsubscribes: Option.Option<boolean>
  readonly tracking: Option.Option<string>
  readonly listUnsubscribe: Option.Option<string>
  readonly linkDomains: ReadonlyArray<string>
  readonly conversionEvents: ReadonlyArray<string>
  readonly tags: ReadonlyArray<string>
  readonly owner: Option.Option<string>
}) => ({
  ...(Option.isSome(flags.strict) ? { strict: flags.strict.value } : {}),
  ...(Option.isSome(flags.stickyHours) ? { sticky_hours: flags.stickyHours.value } : {}),
  ...(Option.isSome(flags.objective) ? { objective: objectiveInput(flags.objective.value) } : {}),
  ...(Option.isSome(flags.holdout)
    ? { holdout: flags.holdout.value === "organization" ? null : holdoutInput(flags.holdout.value) }
    : {}),
  ...(Option.isSome(flags.ignoreUnsubscribes) ? { ignore_unsubscribes: flags.ignoreUnsubscribes.value } : {}),
  ...(Option.isSome(flags.tracking)
    ? { tracking: flags.tracking.value === "organization" ? null : trackingInput(flags.tracking.value) }
    : {}),
  ...(Option.isSome(flags.listUnsubscribe) ? { list_unsubscribe: flags.listUnsubscribe.value === "true" } : {}),
  ...(flags.linkDomains.length === 0 ? {} : { link_domains: flags.linkDomains.filter((domain) => domain !== "") }),
  ...(flags.conversionEvents.length === 0
    ? {}
    : { conversion_events: flags.conversionEvents.filter((name) => name !== "") }),
  ...(flags.tags.length === 0 ? {} : { tags: flags.tags.filter((tag) => tag !== "") }),
  ...ownerInput(flags.owner),
})

const create = Command.make(
  "create",
  { id, name: Flag.String("name").pipe(Flag.withDescription("Display name"), Flag.optional), ...settings },
  Effect.fnUntraced(function* ({ id, name, ...flags }) {
    const client = yield* ManagementClient
    const payload = yield* decodeInput(TemplateInput, {
      id,
      name: Option.getOrElse(name, () => id),
      ...settingsOf(flags),
    })
    const template = yield* client.templates.createTemplate({ params: { org: yield* organization }, payload })
    yield* printChange(template, ({ id }) => `Created template ${id}`)
  }),
).pipe(Command.withDescription("Create a template without variants"))

const list = Command.make(
  "list",
  {
    archived: archivedFlag,
    all: Flag.Boolean("all").pipe(
      Flag.withDescription("Include archived templates"),
      Flag.withDefault(false),
    ),
  },
  Effect.fnUntraced(function* ({ all, archived }) {
    const templates = yield* allTemplates(yield* organization, all ? "all" : archived ? "true" : "false")
    yield* print(templates, describe(templates))
  }),
).pipe(Command.withDescription("List templates that are in use"))

const show = Command.make(
  "show",
  { id },
  Effect.fnUntraced(function* ({ id }) {
    const client = yield* ManagementClient
    const template = yield* client.templates.getTemplate({ params: { org: yield* organization, template: id } })
    yield* print(template, TemplateFile.format([TemplateFile.inputOf(template)], "yaml").trimEnd())
  }),
).pipe(Command.withDescription("Show a template with its variants"))

const update = Command.make(
  "update",
  { id, name: Flag.String("name").pipe(Flag.optional), ...settings },
  Effect.fnUntraced(function* ({ id, name, ...flags }) {
    const client = yield* ManagementClient
    const payload = yield* decodeInput(TemplatePatch, {
      ...(Option.isSome(name) ? { name: name.value } : {}),
      ...settingsOf(flags),
    })
    const template = yield* client.templates.updateTemplate({
      params: { org: yield* organization, template: id },
      payload,
    })
    yield* printChange(template, (live) => describe([live]))
  }),
).pipe(Command.withDescription("Change a template's settings"))

const setArchived = (name: "archive" | "restore", archived: boolean, done: string) =>
  Command.make(
    name,
    { id },
    Effect.fnUntraced(function* ({ id }) {
      const client = yield* ManagementClient
      const template = yield* client.templates.updateTemplate({
        params: { org: yield* organization, template: id },
        payload: { archived },
      })
      yield* printChange(template, ({ id }) => `${done} ${id}`)
    }),
  )

const archive = setArchived("archive", true, "Archived template").pipe(
  Command.withDescription("Stop serving a template. It keeps its content and its results"),
)

const restore = setArchived("restore", false, "Restored template").pipe(
  Command.withDescription("Restore an archived template, so that it is served again"),
)

const remove = Command.make(
  "delete",
  { id },
  Effect.fnUntraced(function* ({ id }) {
    const client = yield* ManagementClient
    const proposed = yield* client.templates.deleteTemplate({ params: { org: yield* organization, template: id } })
    yield* printChange(proposed ?? { id, deleted: true }, () => `Deleted template ${id} with its variants`)
  }),
).pipe(Command.withDescription("Delete a template with its variants"))

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
