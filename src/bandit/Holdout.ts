import { hash } from "node:crypto"
import type { TemplateHoldout } from "../domain/Holdout.ts"

// Decides which people are held out. Pure: a person is always on one side of a share.

/** Number of groups that people are divided into; see `placeOf`. */
export const peopleGroups = 32

/** A person, as a holdout identifies them. Without a user id, every tracking id is a person of its own. */
interface HoldoutSubject {
  readonly org: string
  readonly userId: string | undefined
  readonly trackingId: string
}

/**
 * Returns the place of a person, by a digest (SHA-256): `draw` is uniform in [0, 1), and people with a draw below the
 * share are held out. It depends only on organization and person, so that people stay held out in all templates, on
 * every node and after the share grows. `people` is one of 32 groups, independent of `draw`.
 */
export const placeOf = (
  { org, trackingId, userId }: HoldoutSubject,
): { readonly draw: number; readonly people: number } => {
  const name = userId === undefined ? [org, "message", trackingId] : [org, "user", userId]
  // The first six bytes and the seventh. Reading bytes from a buffer takes three times as long.
  const digest = hash("sha256", JSON.stringify(name), "hex")
  return {
    draw: Number.parseInt(digest.slice(0, 12), 16) / 2 ** 48,
    people: Number.parseInt(digest.slice(12, 14), 16) % peopleGroups,
  }
}

/** The side of a holdout that a decision belongs to. */
export type Arm = "treated" | "control"

/**
 * Returns the side of a decision for a person who may get the variants `eligible`. Returns undefined if the holdout
 * does not apply: its share is 0, there are fewer than two eligible variants (`no_message`: no eligible variant), or
 * the fixed variant is not eligible now. These conditions do not depend on the side of a person, so that both sides are
 * comparable.
 */
export const armOf = (
  holdout: TemplateHoldout,
  eligible: ReadonlyArray<string>,
  subject: HoldoutSubject,
): Arm | undefined => {
  if (holdout.share === 0) return undefined
  if (eligible.length < (holdout.content === "no_message" ? 1 : 2)) return undefined
  if (holdout.content === "fixed" && !eligible.includes(holdout.copy_id!)) return undefined
  return placeOf(subject).draw < holdout.share ? "control" : "treated"
}
