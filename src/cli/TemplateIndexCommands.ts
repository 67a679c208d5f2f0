import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { AuditEntry } from "../accounts/Audit.ts"
import type { FoundTemplate } from "../api/templates/TemplateIndexApi.ts"
import { problemKinds } from "../api/templates/TemplateListShape.ts"
import { changesText } from "./ChangesText.ts"
import { ManagementClient } from "./Connection.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

/** Only archived templates. */
export const archivedFlag = Flag.Boolean("archived").pipe(
  Flag.withDescription("Archived templates instead of those in use"),
  Flag.withDefault(false),
)

const filters = {
  state: Flag.Literals("state", ["active", "inactive", "no-variants", "out-of-season"]).pipe(
    Flag.withDescription("Only templates of this state"),
    Flag.optional,
  ),
  goal: Flag.Literals("goal", ["click", "open", "conversion", "mix"]).pipe(
    Flag.withDescription("Only templates with this goal"),
    Flag.optional,
  ),
  tag: Flag.String("tag").pipe(Flag.withDescription("Only templates with this tag"), Flag.optional),
  owner: Flag.String("owner").pipe(
    Flag.withDescription("Only templates of this owner, by e-mail address; none: without one; left: of former members"),
    Flag.optional,
  ),
  winner: Flag.Literals("winner", ["found", "none"]).pipe(
    Flag.withDescription("Only templates with or without a winner"),
    Flag.optional,
  ),
  failing: Flag.Literals("failing", problemKinds).pipe(
    Flag.withDescription(
      "Only templates with variants that cannot be rendered, with failed deliveries, with repeated tracking ids, or with " +
        "placeholders that nobody filled in",
    ),
    Flag.optional,
  ),
  sort: Flag.String("sort").pipe(
    Flag.withDescription("id (default), name, state, decisions, goal, winner, failing, tag, owner or changed"),
    Flag.optional,
  ),
}

/** The given values of optional flags. */
const givenOf = (flags: Readonly<Record<string, Option.Option<string>>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(flags).flatMap(([name, value]) => Option.isSome(value) ? [[name, value.value]] : []),
  )

/** `parlance template find [TEXT]` */
export const find = Command.make(
  "find",
  {
    text: Argument.String("text").pipe(
      Argument.withDescription("Part of the name, the id or a tag"),
      Argument.optional,
    ),
    archived: archivedFlag,
    ...filters,
  },
  Effect.fnUntraced(function* ({ archived, text, ...narrowed }) {
    const client = yield* ManagementClient
    const org = yield* organization
    const found: Array<FoundTemplate> = []
    let cursor: string | undefined
    do {
      const page = yield* client.templateIndex.findTemplates({
        params: { org },
        query: {
          ...givenOf({ search: text, ...narrowed }),
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
        [
          "id",
          "name",
          "state",
          "variants",
          "active",
          "winner",
          "failing",
          "tags",
          "owner",
          "decisions in 14 days",
          "updated",
        ],
        found.map(({ active, decisions, failing, id, name, owner, state, tags, updated_at, variants, winner }) => [
          id,
          name,
          state,
          variants,
          active,
          winner?.copy_id ?? "none",
          failing.join(),
          tags.join(),
          owner === null ? "no owner" : owner.name === null ? `${owner.email} (left)` : owner.email,
          decisions.reduce((sum, count) => sum + count, 0),
          updated_at,
        ]),
      ),
    )
  }),
).pipe(Command.withDescription("Find templates by name, id, state, goal, tag, owner, winner or problems"))

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
