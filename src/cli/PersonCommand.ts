import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { organization, print } from "./Root.ts"
import { personShow } from "./StoryCommands.ts"

const erase = Command.make(
  "erase",
  {
    user: Flag.String("user").pipe(Flag.withDescription("The user's id as callers give it"), Flag.optional),
    email: Flag.String("email").pipe(Flag.withDescription("The e-mail address"), Flag.optional),
    yes: Flag.Boolean("yes").pipe(
      Flag.withDescription("It cannot be undone; say that you know"),
      Flag.withDefault(false),
    ),
  },
  Effect.fnUntraced(function* ({ email, user, yes }) {
    if (!yes) return yield* new CommandFailed({ message: "Erasing a person cannot be undone: repeat with --yes." })
    const client = yield* ManagementClient
    const erased = yield* client.sources.erasePerson({
      params: { org: yield* organization },
      payload: {
        ...(Option.isSome(user) ? { user_id: user.value } : {}),
        ...(Option.isSome(email) ? { email: email.value } : {}),
      } as never,
    })
    yield* print(
      erased,
      `Erased ${erased.profiles} profiles; ${erased.decisions} decisions, ${erased.events} events, ${erased.deliveries} ` +
        `deliveries and ${erased.bodies} received bodies no longer name the person. Counts are as they were.`,
    )
  }),
).pipe(Command.withDescription("Forget a person; counts stay"))

/** `parlance person …` */
export const personCommand = Command.make("person").pipe(
  Command.withDescription("End users"),
  Command.withSubcommands([personShow, erase]),
)
