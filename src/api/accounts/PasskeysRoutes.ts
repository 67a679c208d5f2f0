import { Effect } from "effect"
import { OwnPasskeys } from "../../accounts/OwnPasskeys.ts"
import { Passkeys } from "../../accounts/Passkeys.ts"
import { SessionCookie } from "../../accounts/SessionCookie.ts"
import { managed } from "../http/Managed.ts"
import { ownSession } from "./ownSession.ts"

/** Serves `PasskeysGroup`. */
export const layer = managed(
  "passkeys",
  Effect.gen(function* () {
    const own = yield* OwnPasskeys
    const passkeys = yield* Passkeys
    const cookie = yield* SessionCookie

    return {
      listPasskeys: Effect.fnUntraced(function* ({ actor }) {
        return { passkeys: yield* passkeys.list((yield* ownSession(actor)).account.id) }
      }),
      beginPasskey: Effect.fnUntraced(function* ({ actor, body: { current_password: password = "" }, request }) {
        const session = yield* ownSession(actor)
        const options = yield* own.begin(session, yield* cookie.siteOf(request), password, cookie.clientOf(request))
        return { options: { ...options } }
      }),
      addPasskey: Effect.fnUntraced(function* ({ actor, body: { name, response }, request }) {
        const session = yield* ownSession(actor)
        const added = yield* own.add(session, yield* cookie.siteOf(request), name, JSON.stringify(response))
        return { ...added.passkey, recovery_codes: added.recoveryCodes ?? null }
      }),
      renamePasskey: Effect.fnUntraced(function* ({ actor, body, params }) {
        return yield* passkeys.rename((yield* ownSession(actor)).account.id, params.passkey, body.name)
      }),
      removePasskey: Effect.fnUntraced(
        function* ({ actor, body: { current_password: password = "" }, params, request }) {
          yield* own.remove(yield* ownSession(actor), params.passkey, password, cookie.clientOf(request))
        },
      ),
    }
  }),
)
