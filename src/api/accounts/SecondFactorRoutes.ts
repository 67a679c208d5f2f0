import { Effect } from "effect"
import { OwnSecondFactor } from "../../accounts/OwnSecondFactor.ts"
import { SecondFactors } from "../../accounts/SecondFactors.ts"
import { SessionCookie } from "../../accounts/SessionCookie.ts"
import { managed } from "../http/Managed.ts"
import { ownSession } from "./ownSession.ts"

/** Serves `SecondFactorGroup`. */
export const layer = managed(
  "secondFactor",
  Effect.gen(function* () {
    const own = yield* OwnSecondFactor
    const factors = yield* SecondFactors
    const { clientOf } = yield* SessionCookie

    return {
      getSecondFactor: ({ actor }) => Effect.flatMap(ownSession(actor), ({ account }) => factors.state(account.id)),
      beginSecondFactor: ({ actor, body, request }) =>
        Effect.flatMap(ownSession(actor), (session) => own.begin(session, body.current_password, clientOf(request))),
      confirmSecondFactor: Effect.fnUntraced(function* ({ actor, body }) {
        return { recovery_codes: yield* own.confirm(yield* ownSession(actor), body.code) }
      }),
      disableSecondFactor: ({ actor, body, request }) =>
        Effect.flatMap(
          ownSession(actor),
          (session) => own.disable(session, body.current_password, body.code, clientOf(request)),
        ),
      renewRecoveryCodes: Effect.fnUntraced(function* ({ actor, body: { code, current_password }, request }) {
        const session = yield* ownSession(actor)
        return { recovery_codes: yield* own.renewRecoveryCodes(session, current_password, code, clientOf(request)) }
      }),
      resetSecondFactor: ({ params }) => own.reset(params.account),
    }
  }),
)
