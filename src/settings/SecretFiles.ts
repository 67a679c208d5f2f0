import { ConfigProvider, Effect, Option } from "effect"
import type { Config } from "effect"
import { namedFile } from "./SettingReaders.ts"

/** Settings with secrets. Each may be in a file, which the setting of its name and `_FILE` names. */
export const secretSettings = [
  "ADMIN_TOKEN",
  "DATABASE_URL",
  "DATABASE_DIRECT_URL",
  "DATABASE_READ_URL",
  "MAIL_URL",
  "OIDC_CLIENT_SECRET",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "SECRET_KEY",
  "SUGGESTIONS_KEY",
] as const

/** Returns the secret in a file: its text without a byte order mark, which editors of Windows write, and a final line end. */
const secretIn = (text: string): string => text.replace(/^\uFEFF/, "").replace(/\r?\n$/, "")

/** Whether a text was read from bytes that are not UTF-8, such as the UTF-16 of a redirection in PowerShell. */
const isOtherEncoding = (text: string): boolean => /[\uFFFD\0]/.test(text)

/** Reads the files of secrets. Returns a provider with their texts and the faults. */
export const readSecretFiles = Effect.fnUntraced(function* (
  faultsOf: (error: Config.ConfigError) => ReadonlyArray<string>,
) {
  const provider = yield* ConfigProvider.ConfigProvider
  const env: Record<string, string> = {}
  const faults: Array<string> = []
  for (const name of secretSettings) {
    const file = yield* Effect.catch(namedFile(`${name}_FILE`), (error) => {
      faults.push(...faultsOf(error))
      return Effect.succeedNone
    })
    if (Option.isNone(file)) continue
    const { path, text } = file.value
    env[name] = secretIn(text)
    if (env[name] === "") faults.push(`${name}_FILE: the file ${path} is empty. Write the value of ${name} into it`)
    if (isOtherEncoding(text)) faults.push(`${name}_FILE: the file ${path} is not in UTF-8. Save it as UTF-8`)
    const given = yield* Effect.orElseSucceed(provider.load([name]), () => undefined)
    if (given?._tag === "Value") faults.push(`${name}: is set, and ${name}_FILE too. Set one of them`)
  }
  return { provider: ConfigProvider.orElse(ConfigProvider.fromEnv({ env }), provider), faults }
})
