import { Config, Effect, Option } from "effect"
import { Settings } from "../settings/Settings.ts"
import * as LocalAddress from "../store/LocalAddress.ts"
import { remoteService } from "./Remote.ts"
import { root } from "./RootCommand.ts"

/** A link of the console with the public address of the service, or else with an address of this machine. */
export const linkTo = Effect.fnUntraced(function* (path: string) {
  const remote = yield* remoteService((yield* root).profile)
  const publicUrl = yield* Config.option(Config.URL("PUBLIC_URL"))
  if (Option.isSome(publicUrl)) return publicUrl.value.href.replace(/\/$/, "") + path
  if (Option.isSome(remote)) return remote.value.url + path
  const { dataDir, database, host, port } = yield* Settings.pipe(Effect.provide(Settings.layer))
  const running = Option.isNone(database) ? LocalAddress.read(dataDir) : undefined
  return (running ?? `http://${host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host}:${port}`) + path
})

/** Replaces the path of a response by its link. */
export const withLink = <Response extends { readonly path: string }>({ path, ...response }: Response) =>
  Effect.map(linkTo(path), (link) => ({ ...response, link }))
