import { ConfigProvider, Layer } from "effect"
import { Settings } from "../../src/settings/Settings.ts"
import { layerSpares } from "./spares.ts"

/** Environment variables of the service under test. */
export type Environment = Readonly<Record<string, string>>

/**
 * Provides settings from `environment` only, without the environment of the test run, and the spare processes of
 * `layerSpares`.
 */
export const layerSettings = (environment: Environment): Layer.Layer<Settings> =>
  Settings.layer.pipe(
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { ...environment } }))),
    Layer.orDie,
    Layer.merge(layerSpares),
  )
