import type { SealedColumn } from "../store/SecretKeys.ts"
import { purposeOf as purposeOfDkimKey } from "./dkim/SigningKeys.ts"

/** Returns the purpose that binds an encrypted secret to its connection. */
export const purposeOf = (org: string, name: string, secret: string) => `connection ${org}/${name}/${secret}`

/** Secrets of connections. */
export const sealedConnections: SealedColumn = {
  table: "connections",
  column: "secrets",
  type: "json",
  key: ["org_slug", "name"],
  purposeOf: ([org, name], secret) => purposeOf(org!, name!, secret),
}

/** Private keys of signatures. */
export const sealedDkimKeys: SealedColumn = {
  table: "dkim_keys",
  column: "private_key",
  type: "text",
  key: ["org_slug", "connection", "selector"],
  purposeOf: ([org, connection, selector]) => purposeOfDkimKey(org!, connection!, selector!),
}
