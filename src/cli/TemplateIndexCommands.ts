import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { AuditEntry } from "../accounts/Audit.ts"
import type { FoundTemplate } from "../api/templates/TemplateIndexApi.ts"
import { changesText } from "./ChangesText.ts"
import { ManagementClient } from "./Connection.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

/** Only archived templates. */
export const archivedFlag = Flag.Boolean("archived").pipe(
  Flag.withDescription("Archived templates instead of those in use"),
  Flag.withDefault(false),
)

/** `parlance template find TEXT` */
export const find = Command.make(
  "find",
  {
    text: Argument.String("text").pipe(Argument.withDescription("Part of the name or id")),
    archived: archivedFlag,
  },
  Effect.fnUntraced(function* ({ archived, text }) {
    const client = yield* ManagementClient
    const org = yield* organization
    const found: Array<FoundTemplate> = []
    let cursor: string | undefined
    do {
      const page = yield* client.templateIndex.findTemplates({
        params: { org },
        query: {
          search: text,
          archived: String(archived),
          limit: "200",
          ...(cursor === undefined ? {} : { after: cursor }),
        },
      })
      found.push(...page.templates)
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    yield* print(
      found,
      table(
        ["id", "name", "variants", "active", "decisions in 14 days", "updated"],
        found.map(({ active, decisions, id, name, updated_at, variants }) => [
          id,
          name,
          variants,
          active,
          decisions.reduce((sum, count) => sum + count, 0),
          updated_at,
        ]),
      ),
    )
  }),
).pipe(Command.withDescription("Find templates by name or id"))

/** The changed members of a variant. */
export const changesFlag = Flag.Boolean("changes").pipe(
  Flag.withDescription("Show each field before and after instead of a table"),
  Flag.withDefault(false),
)

/** `parlance template history ID` */
export const history = Command.make(
  "history",
  { id: Argument.String("template").pipe(Argument.withDescription("The template's id")), whole: changesFlag },
  Effect.fnUntraced(function* ({ id, whole }) {
    const client = yield* ManagementClient
    const org = yield* organization
    const changes: Array<AuditEntry> = []
    let cursor: number | undefined
    do {
      const page = yield* client.templateIndex.templateHistory({
        params: { org, template: id },
        query: { limit: "200", ...(cursor === undefined ? {} : { before: String(cursor) }) },
      })
      changes.push(...page.changes)
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    yield* print(changes, changesText(changes, whole))
  }),
).pipe(Command.withDescription("List the changes of a template and their authors, newest first"))
