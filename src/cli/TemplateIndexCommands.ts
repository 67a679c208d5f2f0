import { Argument } from "effect/cli"
import { problemKinds } from "../api/templates/TemplateListShape.ts"
import { call, callWith } from "./ApiCommand.ts"
import { changesText } from "./ChangesText.ts"
import { argument, choice, template, text, toggle } from "./Flags.ts"

/** The flag that selects archived templates. */
export const archivedFlag = toggle("archived", "Archived templates instead of templates in use")

const filters = {
  state: choice("state", ["active", "inactive", "no-variants", "out-of-season"], "Only templates of this state"),
  goal: choice("goal", ["click", "open", "conversion", "mix"], "Only templates with this goal"),
  tag: text("tag", "Only templates with this tag"),
  owner: text(
    "owner",
    "Only templates of this owner, by e-mail address; none: without one; left: of former members",
  ),
  winner: choice("winner", ["found", "none"], "Only templates with or without a winner"),
  failing: choice(
    "failing",
    problemKinds,
    "Only templates with variants that cannot be rendered, with failed deliveries, with repeated tracking ids, or with " +
      "placeholders that nobody filled in",
  ),
  sort: text("sort", "id (default), name, state, decisions, goal, winner, failing, tag, owner or changed"),
}

/** `parlance template find [TEXT]` */
export const find = call("findTemplates", "Find templates by name, id, state, goal, tag, owner, winner or problems", {
  search: argument("text", "Part of the name, the id or a tag").pipe(Argument.optional),
  archived: archivedFlag,
  ...filters,
}).pages("templates").table({
  id: "id",
  name: "name",
  state: "state",
  variants: "variants",
  active: "active",
  winner: ({ winner }) => winner?.copy_id ?? "none",
  failing: ({ failing }) => failing.join(),
  tags: ({ tags }) => tags.join(),
  owner: ({ owner }) => owner === null ? "no owner" : owner.name === null ? `${owner.email} (left)` : owner.email,
  "decisions in 14 days": ({ decisions }) => decisions.reduce((sum, count) => sum + count, 0),
  updated: "updated_at",
})

/** The flag that prints the changed fields. */
export const changesFlag = toggle("changes", "Show each field before and after instead of a table")

/** `parlance template history ID` */
export const history = callWith("templateHistory", "List the changes of a template and their authors, newest first", {
  template,
  whole: changesFlag,
}, ({ template }) => ({ template }))
  .pages("changes")
  .text((changes, { whole }) => changesText(changes, whole))
