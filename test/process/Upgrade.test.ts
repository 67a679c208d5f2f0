import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { describe } from "vitest"
import { checkOutPreviousRelease, hasPreviousRelease, previousRelease } from "../support/previousRelease.ts"
import { scopedProcess, type ServiceProcess, waitUntil } from "../support/service.ts"
import { emptyEnvironment, type Environment, temporaryFolder } from "../support/stores.ts"
import { terminate } from "./support.ts"
import { scopedUpgradeLoad } from "./upgradeLoad.ts"

describe.runIf(hasPreviousRelease())("An upgrade under load", () => {
  it.live(
    "fails no request during a rolling upgrade from the previous release, a way back, and another upgrade",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env: Environment = { ...yield* emptyEnvironment, SHUTDOWN_DELAY: "1 second" }
        const { balancer, begin, ended, going } = yield* scopedUpgradeLoad(env)
        const release = join(yield* temporaryFolder, "release")
        checkOutPreviousRelease(release)
        const starting = (folder?: string) =>
          Effect.tap(scopedProcess(env, { folder }), ({ url }) =>
            Effect.promise(async () => {
              balancer.add(url)
              await waitUntil("the balancer has found it ready", () => balancer.ready().includes(url))
            }))
        // The balancer detects by itself that a node is about to end.
        const stopped = (node: ServiceProcess) =>
          Effect.promise(async () => assert.deepStrictEqual(await terminate(node), { code: 0, signal: null }))

        const first = yield* starting(release)
        yield* begin(first)
        yield* going
        // Migrates while the previous release serves.
        const newest = yield* starting()
        yield* going
        yield* stopped(first)
        yield* going
        // Goes back: the previous release starts on the newer schema.
        const previous = yield* starting(release)
        yield* going
        yield* stopped(newest)
        yield* going
        yield* starting()
        yield* stopped(previous)
        yield* going
        console.info(`Upgrade from ${previousRelease()[0]}: ${yield* ended}`)
      })),
    480_000,
  )
})
