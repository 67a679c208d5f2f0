import { Command, Flag } from "effect/cli"

/** The command `parlance` with the flags of all subcommands. */
export const root = Command.make("parlance").pipe(
  Command.withSharedFlags({
    json: Flag.Boolean("json").pipe(Flag.withDescription("Print JSON instead of tables"), Flag.withDefault(false)),
    org: Flag.String("org").pipe(
      Flag.withDescription("Slug of the organization; required if there are several"),
      Flag.optional,
    ),
    profile: Flag.String("profile").pipe(
      Flag.withDescription("The stored service to talk to; see `parlance login`"),
      Flag.optional,
    ),
  }),
  Command.withDescription("Content personalization: chooses and renders variants, and learns which work best"),
)
