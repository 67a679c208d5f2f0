import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { CurrentActor } from "../../accounts/Actor.ts"
import { OwnSecondFactor } from "../../accounts/OwnSecondFactor.ts"
import { SecondFactors } from "../../accounts/SecondFactors.ts"
import { SessionCookie } from "../../accounts/SessionCookie.ts"
import type { SignedIn } from "../../accounts/Sessions.ts"
import { decoder } from "../../domain/Faults.ts"
import { accountProblems, ownSession } from "./AccountProblems.ts"
import { ServedApi } from "../Api.ts"
import { body, lookedUp } from "../server/Requests.ts"
import { BeginBody, BothBody, CodeBody } from "./SecondFactorApi.ts"

const beginBody = decoder(BeginBody)
const codeBody = decoder(CodeBody)
const bothBody = decoder(BothBody)

const session = Effect.flatMap(CurrentActor, ownSession)

export const layer = HttpApiBuilder.group(
  ServedApi,
  "secondFactor",
  Effect.fnUntraced(function* (handlers) {
    const own = yield* OwnSecondFactor
    const factors = yield* SecondFactors
    const { clientOf } = yield* SessionCookie

    const withBoth = <A, E>(
      request: HttpServerRequest.HttpServerRequest,
      use: (password: string, code: string, session: SignedIn) => Effect.Effect<A, E>,
    ) =>
      Effect.gen(function* () {
        const { code, current_password } = yield* body(request, bothBody)
        return yield* use(current_password, code, yield* session)
      }).pipe(accountProblems(request))

    return handlers
      .handle("getSecondFactor", () => Effect.flatMap(session, ({ account }) => factors.state(account.id)))
      .handleRaw("beginSecondFactor", ({ request }) =>
        Effect.gen(function* () {
          const { current_password } = yield* body(request, beginBody)
          return yield* own.begin(yield* session, current_password, clientOf(request))
        }).pipe(accountProblems(request)))
      .handleRaw("confirmSecondFactor", ({ request }) =>
        Effect.gen(function* () {
          const { code } = yield* body(request, codeBody)
          return { recovery_codes: yield* own.confirm(yield* session, code) }
        }).pipe(accountProblems(request)))
      .handleRaw(
        "disableSecondFactor",
        ({ request }) =>
          withBoth(request, (password, code, session) => own.disable(session, password, code, clientOf(request))),
      )
      .handleRaw(
        "renewRecoveryCodes",
        ({ request }) =>
          withBoth(
            request,
            (password, code, session) =>
              Effect.map(own.renewRecoveryCodes(session, password, code, clientOf(request)), (recovery_codes) => ({
                recovery_codes,
              })),
          ),
      )
      .handle("resetSecondFactor", ({ params }) => own.reset(lookedUp(params.account)).pipe(accountProblems()))
  }),
)
