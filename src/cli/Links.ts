import { Config, Effect, Option } from "effect"
import { Settings } from "../settings/Settings.ts"
import { ServiceOfCommand } from "./Remote.ts"

/** A link of the console with the public address of the service, or else with an address of this machine. */
export const linkTo = Effect.fnUntraced(function* (path: string) {
  const publicUrl = yield* Config.option(Config.URL("PUBLIC_URL"))
  if (Option.isSome(publicUrl)) return publicUrl.value.href.replace(/\/$/, "") + path
  const service = yield* ServiceOfCommand
  if (Option.isSome(service)) return service.value.url + path
  const { host, port } = yield* Settings.pipe(Effect.provide(Settings.layer))
  return `http://${host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host}:${port}${path}`
})

/** Replaces the path of a response by its link. */
export const withLink = <Response extends { readonly path: string }>({ path, ...response }: Response) =>
  Effect.map(linkTo(path), (link) => ({ ...response, link }))
