import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Layer } from "effect"
import { Settings } from "../src/Settings.ts"

const read = (env: Record<string, string>) =>
  Effect.provide(
    Settings,
    Settings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))),
  )

describe("Settings", () => {
  it.effect("take lengths of time in words", () =>
    Effect.gen(function* () {
      const settings = yield* read({ STORE_TIMEOUT: "500 millis", SHUTDOWN_DELAY: "2 minutes" })
      assert.strictEqual(Duration.toMillis(settings.storeTimeout), 500)
      assert.strictEqual(Duration.toMillis(settings.shutdownDelay), 120_000)
    }))

  it.effect("say of each fault which setting it is and what is wanted", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        read({ PORT: "70000", STORE_TIMEOUT: "5", SHUTDOWN_DELAY: "Infinity", REQUEST_TIMEOUT: "5s" }),
      )
      const wanted = "must be a length of time such as 500 millis, 5 seconds or 2 minutes"
      assert.sameMembers(error._tag === "SettingsFaulty" ? [...error.faults] : [], [
        "PORT: expected a value between 0 and 65535",
        `STORE_TIMEOUT: ${wanted}`,
        `SHUTDOWN_DELAY: ${wanted}`,
        `REQUEST_TIMEOUT: ${wanted}`,
      ])
    }))
})
