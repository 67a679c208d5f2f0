import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { TemplateBatchInput } from "../domain/Template.ts"
import { ManagementClient } from "./Connection.ts"
import { decodeInput } from "./Inputs.ts"
import { organization, printChange } from "./Root.ts"

/** The owner of a template. */
export const ownerFlag = Flag.String("owner").pipe(
  Flag.withDescription('E-mail address of the member who looks after the template, "" for no owner'),
  Flag.optional,
)

/** The owner as the API takes it. */
export const ownerInput = (owner: Option.Option<string>) =>
  Option.isNone(owner) ? {} : { owner: owner.value === "" ? null : owner.value }

const state = Flag.Literals("state", ["active", "paused", "archived", "restored"]).pipe(
  Flag.withDescription(
    "active or paused: all variants of each template; archived or restored: the templates themselves",
  ),
  Flag.optional,
)

const states = {
  active: { active: true },
  paused: { active: false },
  archived: { archived: true },
  restored: { archived: false },
} as const

const tagsFlag = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(`${description}; may be repeated`), Flag.atLeast(0))

/** `parlance template change ID…` */
export const changeMany = Command.make(
  "change",
  {
    ids: Argument.String("template").pipe(Argument.withDescription("Ids of the templates"), Argument.atLeast(1)),
    state,
    addTags: tagsFlag("add-tag", "Tag to add"),
    removeTags: tagsFlag("remove-tag", "Tag to remove"),
    owner: ownerFlag,
  },
  Effect.fnUntraced(function* ({ addTags, ids, owner, removeTags, state }) {
    const client = yield* ManagementClient
    const payload = yield* decodeInput(TemplateBatchInput, {
      ids,
      ...(Option.isSome(state) ? states[state.value] : {}),
      ...(addTags.length === 0 ? {} : { add_tags: addTags }),
      ...(removeTags.length === 0 ? {} : { remove_tags: removeTags }),
      ...ownerInput(owner),
    })
    const done = yield* client.templates.changeTemplates({ params: { org: yield* organization }, payload })
    yield* printChange(done, ({ changed }) => `Changed templates: ${changed}`)
  }),
).pipe(Command.withDescription("Activate, pause, archive, restore or tag several templates, or give them an owner"))
