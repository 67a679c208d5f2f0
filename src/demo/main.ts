import "../runtime/leakGuard.ts"
import * as NodeServices from "../runtime/NodeServices.ts"
import { Cause, Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { report } from "../cli/Report.ts"
import { runAsProcess } from "../Process.ts"
import { Settings } from "../settings/Settings.ts"
import * as Demo from "./Demo.ts"
import { ExplorationFloor } from "../domain/Organization.ts"
import { version } from "../domain/Version.ts"

const between = (minimum: number, maximum: number) => Schema.Finite.check(Schema.isBetween({ minimum, maximum }))

const demo = Command.make(
  "demo",
  {
    days: Flag.Finite("days").pipe(
      Flag.withSchema(between(0.1, 180)),
      Flag.withDescription("Number of simulated days, up to now"),
      Flag.withDefault(14),
    ),
    seconds: Flag.Finite("seconds").pipe(
      Flag.withSchema(between(1, 86_400)),
      Flag.withDescription("Real duration in seconds; a slow machine takes longer"),
      Flag.withDefault(120),
    ),
    perDay: Flag.Finite("per-day").pipe(
      Flag.withSchema(between(1, 1_000_000)),
      Flag.withDescription("Messages on an average day"),
      Flag.withDefault(1500),
    ),
    seed: Flag.Int("seed").pipe(
      Flag.withDescription("Seed of the true rates, the users and their behaviour"),
      Flag.withDefault(24),
    ),
    explorationFloor: Flag.Finite("exploration-floor").pipe(
      Flag.withSchema(ExplorationFloor),
      Flag.withDescription("Share of messages with a random split of the variants, 0 to 0.2"),
      Flag.withDefault(0.01),
    ),
    port: Flag.Int("port").pipe(
      Flag.withSchema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))),
      Flag.withDescription("Port of the service. Default: PORT, or 8080"),
      Flag.optional,
    ),
    dataDir: Flag.String("data-dir").pipe(
      Flag.withDescription("Folder of the demo's database, emptied at the start; refused if it contains other files"),
      Flag.withDefault(".parlance-demo"),
    ),
    once: Flag.Boolean("once").pipe(
      Flag.withDescription("Exit after the summary instead of keeping the service running"),
      Flag.withDefault(false),
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("Print the summary as JSON, and progress to standard error"),
      Flag.withDefault(false),
    ),
  },
  Effect.fnUntraced(function* ({ port, ...options }) {
    const settings = yield* Settings
    yield* Demo.run({ ...options, port: Option.getOrElse(port, () => settings.port) })
  }),
).pipe(
  Command.withDescription(
    "Run the service with a simulated audience in accelerated time. The service does not know the true click rates",
  ),
)

const program = demo.pipe(
  Command.run({ version }),
  Effect.provide(Settings.layer),
  Effect.provide(NodeServices.layer),
  Effect.catchCause((cause) => Cause.hasInterruptsOnly(cause) ? Effect.interrupt : report(Cause.squash(cause))),
)

runAsProcess(program)
