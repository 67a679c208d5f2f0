import { Effect } from "effect"
import { may } from "../../accounts/Actor.ts"
import { OrganizationChanges } from "../../accounts/OrganizationChanges.ts"
import { Keys } from "../../auth/Keys.ts"
import { WebhookQuota } from "../../intake/WebhookQuota.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { managed } from "../http/Managed.ts"

/** Serves `OrganizationsGroup`. */
export const organizationsLayer = managed(
  "organizations",
  Effect.gen(function* () {
    const changes = yield* OrganizationChanges
    const organizations = yield* Organizations
    const quotas = yield* WebhookQuota
    return {
      createOrganization: ({ body }) => organizations.create(body),
      listOrganizations: ({ actor }) =>
        Effect.map(organizations.list, (all) => ({
          organizations: all.filter(({ slug }) => may(actor, slug, "viewer")),
        })),
      getOrganization: ({ org }) => organizations.get(org),
      updateOrganization: ({ actor, body, org }) => changes.change(org, body, actor),
      organizationUsage: ({ org }) => quotas.usage(org),
      setOrganizationQuota: ({ body, org }) => quotas.setQuota(org, body.webhook_daily_bytes),
    }
  }),
  "by the services",
)

/** Serves `KeysGroup`. */
export const keysLayer = managed(
  "keys",
  Effect.gen(function* () {
    const keys = yield* Keys
    return {
      createKey: ({ body: { expires_at, rate_limit, ...input }, org }) =>
        keys.create(org, { ...input, expiresAt: expires_at ?? undefined, rateLimit: rate_limit ?? undefined }),
      listKeys: ({ org }) => Effect.map(keys.list(org), (all) => ({ keys: all })),
      updateKey: ({ body: { name, rate_limit: rateLimit }, org, params }) =>
        keys.update(org, params.key, { name, rateLimit }),
      revokeKey: ({ org, params }) => keys.revoke(org, params.key),
    }
  }),
  "by the services",
)
