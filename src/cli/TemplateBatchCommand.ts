import { Argument } from "effect/cli"
import { TemplateBatchInput } from "../domain/TemplateSwitches.ts"
import { callWith } from "./ApiCommand.ts"
import { argument, choice, parsed, texts } from "./Flags.ts"

/** The flag with the owner of a template. Its value is null for an empty text. */
export const owner = parsed(
  "owner",
  'E-mail address of the member who looks after the template, "" for no owner',
  (email) => email === "" ? null : email,
)

const state = choice(
  "state",
  ["active", "paused", "archived", "restored"],
  "active or paused: all variants of each template; archived or restored: the templates themselves",
)

const states = {
  active: { active: true },
  paused: { active: false },
  archived: { archived: true },
  restored: { archived: false },
} as const

/** `parlance template change ID…` */
export const changeMany = callWith(
  "changeTemplates",
  "Activate, pause, archive, restore or tag several templates, or set their owner",
  {
    ids: argument("template", "Ids of the templates").pipe(Argument.atLeast(1)),
    state,
    add_tags: texts("add-tag", "Tag to add; may be repeated"),
    remove_tags: texts("remove-tag", "Tag to remove; may be repeated"),
    owner,
  },
  ({ state, ...values }) => ({ ...values, ...(state === undefined ? {} : states[state]) }),
)
  .checks(TemplateBatchInput)
  .change(({ changed }) => `Changed templates: ${changed}`)
