import { Context, Effect, Layer } from "effect"
import type { NoSecretKey, SecretFileFaulty } from "../store/SecretBox.ts"
import { InvalidInput, type OrganizationNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Organization, OrganizationPatch } from "../domain/Organization.ts"
import { Organizations } from "../organizations/Organizations.ts"
import type { Actor } from "./Actor.ts"
import { SecondFactors } from "./SecondFactors.ts"

/** Changes of organizations by people, with the conditions for changes that need more than a role. */
export class OrganizationChanges extends Context.Service<OrganizationChanges, {
  /**
   * Changes an organization. Only the admin token, or a person with a second factor, can require a second factor, so
   * that admins do not lock themselves out. This also requires that secrets can be stored, so that members can set one
   * up. Fails with `OrganizationNotFound` for an unknown organization, `InvalidInput` with every fault of an invalid
   * input, `NoSecretKey` without a key to encrypt with, and `SecretFileFaulty` if the key file of the embedded database
   * is damaged.
   */
  readonly change: (
    org: OrgSlug,
    patch: OrganizationPatch,
    by: Actor,
  ) => Effect.Effect<Organization, OrganizationNotFound | InvalidInput | NoSecretKey | SecretFileFaulty>
}>()("parlance/accounts/OrganizationChanges") {
  static readonly layer = Layer.effect(
    OrganizationChanges,
    Effect.gen(function* () {
      const factors = yield* SecondFactors
      const organizations = yield* Organizations

      const change = Effect.fn("OrganizationChanges.change")(
        function* (org: OrgSlug, patch: OrganizationPatch, by: Actor) {
          if (patch.require_second_factor === true) {
            if (by.kind === "key" || (by.kind === "session" && !by.session.hasSecondFactor)) {
              return yield* new InvalidInput({
                faults: [{
                  pointer: "/require_second_factor",
                  detail: by.kind === "key"
                    ? "is turned on by a person with a second factor or with the admin token, not by an API key"
                    : "needs a second factor of your own first: set one up under Your account, Second factor",
                }],
              })
            }
            yield* factors.canStore
          }
          return yield* organizations.update(org, patch)
        },
      )

      return OrganizationChanges.of({ change })
    }),
  )
}
