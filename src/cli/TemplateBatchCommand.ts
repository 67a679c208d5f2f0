import { Option } from "effect"
import { Argument } from "effect/cli"
import { TemplateBatchInput } from "../domain/Template.ts"
import { argument, choice, text, texts } from "./Flags.ts"
import { decodeInput } from "./Inputs.ts"
import { organizationCommand } from "./ManagementCommand.ts"

/** The flag with the owner of a template. */
export const ownerFlag = text("owner", 'E-mail address of the member who looks after the template, "" for no owner')

/** The owner as a member of a request's body: null for an empty text. */
export const ownerInput = (owner: Option.Option<string>) =>
  Option.isNone(owner) ? {} : { owner: owner.value === "" ? null : owner.value }

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
export const changeMany = organizationCommand({
  name: "change",
  description: "Activate, pause, archive, restore or tag several templates, or set their owner",
  flags: {
    ids: argument("template", "Ids of the templates").pipe(Argument.atLeast(1)),
    state,
    addTags: texts("add-tag", "Tag to add; may be repeated"),
    removeTags: texts("remove-tag", "Tag to remove; may be repeated"),
    owner: ownerFlag,
  },
  payload: ({ addTags, ids, owner, removeTags, state }) =>
    decodeInput(TemplateBatchInput, {
      ids,
      ...(Option.isSome(state) ? states[state.value] : {}),
      ...(addTags.length === 0 ? {} : { add_tags: addTags }),
      ...(removeTags.length === 0 ? {} : { remove_tags: removeTags }),
      ...ownerInput(owner),
    }),
  call: (client, { org, payload }) => client.templates.changeTemplates({ params: { org }, payload }),
}).change(({ changed }) => `Changed templates: ${changed}`)
