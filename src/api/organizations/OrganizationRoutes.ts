import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CurrentActor, may } from "../../accounts/Actor.ts"
import { OrganizationChanges } from "../../accounts/OrganizationChanges.ts"
import { Keys } from "../../auth/Keys.ts"
import { OrganizationInput, OrganizationPatch } from "../../domain/Organization.ts"
import { Quota } from "../../domain/Usage.ts"
import { WebhookQuota } from "../../intake/WebhookQuota.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { ServedApi } from "../Api.ts"
import { KeyBody, KeyPatch } from "./OrganizationsApi.ts"
import { decoder } from "../../domain/Faults.ts"
import { body, lookedUp, slugOf, toProblems } from "../server/Requests.ts"

const organizationInput = decoder(OrganizationInput)
const organizationPatch = decoder(OrganizationPatch)
const quotaBody = decoder(Quota)
const keyBody = decoder(KeyBody)
const keyPatch = decoder(KeyPatch)

export const organizationsLayer = HttpApiBuilder.group(
  ServedApi,
  "organizations",
  Effect.fnUntraced(function* (handlers) {
    const changes = yield* OrganizationChanges
    const organizations = yield* Organizations
    const quotas = yield* WebhookQuota
    return handlers
      .handleRaw(
        "createOrganization",
        ({ request }) =>
          Effect.flatMap(body(request, organizationInput), organizations.create).pipe(
            toProblems,
          ),
      )
      .handle("listOrganizations", () =>
        Effect.zipWith(organizations.list, CurrentActor, (all, actor) => ({
          organizations: all.filter(({ slug }) => may(actor, slug, "viewer")),
        })))
      .handle(
        "getOrganization",
        ({ params }) =>
          organizations.get(slugOf(params)).pipe(
            toProblems,
          ),
      )
      .handleRaw(
        "updateOrganization",
        ({ params, request }) =>
          Effect.gen(function* () {
            const patch = yield* body(request, organizationPatch)
            return yield* changes.change(slugOf(params), patch, yield* CurrentActor)
          }).pipe(toProblems),
      )
      .handle("organizationUsage", ({ params }) => toProblems(quotas.usage(slugOf(params))))
      .handleRaw("setOrganizationQuota", ({ params, request }) =>
        Effect.flatMap(
          body(request, quotaBody),
          ({ webhook_daily_bytes: bytes }) => quotas.setQuota(slugOf(params), bytes),
        ).pipe(toProblems))
  }),
)

export const keysLayer = HttpApiBuilder.group(
  ServedApi,
  "keys",
  Effect.fnUntraced(function* (handlers) {
    const keys = yield* Keys
    return handlers
      .handleRaw(
        "createKey",
        ({ params, request }) =>
          Effect.flatMap(body(request, keyBody), (input) =>
            keys.create(slugOf(params), {
              name: input.name,
              kind: input.kind,
              scopes: input.scopes,
              expiresAt: input.expires_at ?? undefined,
              rateLimit: input.rate_limit ?? undefined,
            })).pipe(toProblems),
      )
      .handle("listKeys", ({ params }) =>
        keys.list(slugOf(params)).pipe(
          Effect.map((all) => ({ keys: all })),
          toProblems,
        ))
      .handleRaw("updateKey", ({ params, request }) =>
        Effect.flatMap(
          body(request, keyPatch),
          ({ name, rate_limit }) => keys.update(slugOf(params), lookedUp(params.key), { name, rateLimit: rate_limit }),
        ).pipe(toProblems))
      .handle(
        "revokeKey",
        ({ params }) => keys.revoke(slugOf(params), lookedUp(params.key)).pipe(toProblems),
      )
  }),
)
