import { Effect, Layer, Redacted } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { AdminAuth } from "../auth/AdminAuth.ts"
import { Unauthorized } from "./Problems.ts"

/** Lets a management request pass that carries the admin token as a Bearer token. */
export class AdminRequired extends HttpApiMiddleware.Service<AdminRequired>()("parlance/http/AdminRequired", {
  error: Unauthorized,
  security: { AdminToken: HttpApiSecurity.bearer },
}) {
  static readonly layer = Layer.effect(
    AdminRequired,
    Effect.gen(function* () {
      const admin = yield* AdminAuth
      return AdminRequired.of({
        AdminToken: (next, { credential }) => {
          if (admin.accepts(credential)) return next
          return new Unauthorized({
            detail: Redacted.value(credential) === ""
              ? "No admin token: send `Authorization: Bearer` with the value of ADMIN_TOKEN"
              : "The Bearer token is not the admin token of this service",
          })
        },
      })
    }),
  )
}
