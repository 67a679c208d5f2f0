import { Effect, Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import type { SecretBox } from "../../store/SecretBox.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import type { DkimSigner } from "../../text/Email.ts"

/** The purpose binds an encrypted private key to its selector, so that it cannot be decrypted in another place. */
export const purposeOf = (org: string, connection: string, selector: string): string =>
  `dkim ${org}/${connection}/${selector}`

/**
 * Returns the key that signs the messages of a connection, if any. Fails with `SecretUnreadable` if it cannot be
 * decrypted.
 */
export const signerOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  box: SecretBox["Service"],
  org: OrgSlug,
  connection: string,
) {
  const [row] = yield* Effect.orDie(sql<{ domain: string; selector: string; privateKey: string }>`
    SELECT k.domain, k.selector, k.private_key FROM dkim_keys k
    WHERE k.org_slug = ${org} AND k.connection = ${connection} AND k.signing`)
  if (row === undefined) return undefined
  const { domain, privateKey, selector } = row
  const opened = yield* box.open(purposeOf(org, connection, selector), privateKey)
  return { domain, selector, privateKey: Redacted.value(opened) } satisfies DkimSigner
})
