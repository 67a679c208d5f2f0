import { addressFaults, type AddressGuard } from "../settings/AddressGuard.ts"
import type { ConnectionInput, Faults } from "./Connection.ts"

/**
 * Returns a fault for each server in valid settings that `guard` forbids by its address. The servers are `host`, and
 * every setting with an HTTP URL, whatever its name. URLs within `unsubscribe` are links, to which nothing connects.
 */
export const forbiddenServers = (guard: AddressGuard["Service"], settings: ConnectionInput["settings"]): Faults => {
  const { host, tls } = settings
  const refusal = typeof host === "string" ? guard.hostRefusalOf(host, tls === "none") : undefined
  return [
    ...addressFaults("/settings/host", refusal && `${host} ${refusal}`),
    ...Object.entries(settings).flatMap(([name, value]) => {
      const url = typeof value === "string" ? URL.parse(value) : null
      const isServer = url?.protocol === "https:" || url?.protocol === "http:"
      return isServer ? addressFaults(`/settings/${name}`, guard.urlRefusalOf(url)) : []
    }),
  ]
}
