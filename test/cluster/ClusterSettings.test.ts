import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Option } from "effect"
import { Settings } from "../../src/Settings.ts"

const read = (env: Record<string, string>) =>
  Effect.provide(
    Settings,
    Settings.layer.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))),
  )

const faultsOf = (env: Record<string, string>) =>
  Effect.map(Effect.flip(read(env)), (error) => error._tag === "SettingsFaulty" ? error.faults : [])

const secret = "0123456789abcdef0123456789abcdef"
const url = "postgres://user:password@db:5432/parlance"

describe("The settings of a cluster", () => {
  it.effect("take a host or an address of either version, and empty texts as unset", () =>
    Effect.gen(function* () {
      const env = { DATABASE_URL: url, CLUSTER_SECRET: secret }
      for (
        const [text, host, port] of [
          ["node-1.internal:8081", "node-1.internal", 8081],
          ["10.0.0.7:1", "10.0.0.7", 1],
          ["[fd00::7]:65535", "fd00::7", 65535],
        ] as const
      ) {
        const { clusterAddress } = yield* read({ ...env, CLUSTER_ADDRESS: text })
        assert.deepStrictEqual(clusterAddress, Option.some({ host, port }))
      }
      const unset = yield* read({ CLUSTER_ADDRESS: "", CLUSTER_LISTEN: "", CLUSTER_SECRET: "" })
      assert.isTrue(Option.isNone(unset.clusterAddress))
    }))

  it.effect("are refused where they do not go together, with every fault named", () =>
    Effect.gen(function* () {
      for (
        const text of ["node-1", "node-1:", ":8081", "node-1:0", "node-1:65536", "http://node-1:8081", "fd00::7:80"]
      ) {
        const faults = yield* faultsOf({ DATABASE_URL: url, CLUSTER_SECRET: secret, CLUSTER_ADDRESS: text })
        assert.strictEqual(faults.length, 1, text)
        assert.match(faults[0]!, /^CLUSTER_ADDRESS: must be a host and a port/)
      }
      assert.deepStrictEqual(
        (yield* faultsOf({ CLUSTER_ADDRESS: "node-1:8081" })).map((fault) => fault.split(":")[0]),
        ["CLUSTER_ADDRESS", "CLUSTER_SECRET"],
      )
      assert.deepStrictEqual(
        (yield* faultsOf({ CLUSTER_LISTEN: "0.0.0.0:8081", CLUSTER_SECRET: secret })).map((fault) =>
          fault.split(":")[0]
        ),
        ["CLUSTER_LISTEN", "CLUSTER_SECRET"],
      )
      const short = yield* faultsOf({ DATABASE_URL: url, CLUSTER_ADDRESS: "node-1:8081", CLUSTER_SECRET: "too short" })
      assert.deepStrictEqual(short, ["CLUSTER_SECRET: must be 32 characters or more"])
    }))
})
