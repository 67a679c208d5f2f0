import { ConfigProvider, Layer } from "effect"
import { Settings } from "../../src/settings/Settings.ts"
import { layerSpares } from "./spares.ts"

/** Environment variables of the service under test. */
export type Environment = Readonly<Record<string, string>>

/** Settings from `environment` only, not from the environment of the test run, for a service that starts with spare processes. */
export const layerSettings = (environment: Environment): Layer.Layer<Settings> =>
  Settings.layer.pipe(
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { ...environment } }))),
    Layer.orDie,
    Layer.merge(layerSpares),
  )
