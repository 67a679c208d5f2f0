import { it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { describe } from "vitest"
import { scopedUpgradeLoad } from "../process/upgradeLoad.ts"
import { checkOutPreviousRelease, hasPreviousRelease, previousRelease } from "../support/previousRelease.ts"
import { adminToken } from "../support/service.ts"
import { emptyEnvironment, temporaryFolder } from "../support/stores.ts"
import { chart, previousChart } from "./manifests.ts"
import { type Release, startDeployment } from "./pods.ts"

/** Half of the chart's SHUTDOWN_DELAY. */
const endpointSeconds = 5

describe.runIf(hasPreviousRelease())("The pods of the chart", () => {
  it.live("answer every request during `helm upgrade` from the previous release, and `helm rollback`", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* emptyEnvironment
      const secret = { ...env, ADMIN_TOKEN: adminToken, SECRET_KEY: "5e".repeat(32) }
      const folder = join(yield* temporaryFolder, "release")
      checkOutPreviousRelease(folder)
      const previous: Release = { rendered: chart({ replicas: 2 }, "words", previousChart()), folder }
      const current: Release = { rendered: chart({ replicas: 2 }, "words") }
      const { balancer, begin, ended, going } = yield* scopedUpgradeLoad(env)
      const deployment = yield* Effect.acquireRelease(
        Effect.promise(() => startDeployment(balancer, secret, endpointSeconds, previous)),
        ({ close }) => Effect.promise(close),
      )
      yield* begin(deployment.first())
      yield* going
      for (const release of [current, previous, current]) {
        yield* Effect.promise(() => deployment.roll(release))
        yield* going
      }
      console.info(`helm upgrade from ${previousRelease()[0]}, rollback, upgrade: ${yield* ended}`)
    })))
})
