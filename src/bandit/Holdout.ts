import { hash } from "node:crypto"
import type { TemplateHoldout } from "../domain/Holdout.ts"

// Decides which people are held out. Pure: a person is always on one side of a share.

/** Groups that people are divided into, see `placeOf`. */
export const peopleGroups = 32

/** A person as a holdout knows them. Without a user id every tracking id is a person of its own. */
export interface HoldoutSubject {
  readonly org: string
  readonly userId: string | undefined
  readonly trackingId: string
}

/**
 * The place of a person, by a digest (SHA-256): `draw` is uniform in [0, 1), and people with a draw below the share are held
 * out. It depends on organization and person alone, so that people stay held out in all templates, when the share grows, and
 * on every node. `people` is one of 32 groups, independent of `draw`.
 */
export const placeOf = (
  { org, trackingId, userId }: HoldoutSubject,
): { readonly draw: number; readonly people: number } => {
  const name = userId === undefined ? [org, "message", trackingId] : [org, "user", userId]
  // The first six bytes and the seventh. Bytes in a buffer would take three times as long.
  const digest = hash("sha256", JSON.stringify(name), "hex")
  return {
    draw: Number.parseInt(digest.slice(0, 12), 16) / 2 ** 48,
    people: Number.parseInt(digest.slice(12, 14), 16) % peopleGroups,
  }
}

/** On which side of a holdout a decision is. */
export type Arm = "treated" | "control"

/**
 * The side of a decision for a person who may get the variants `eligible`; undefined where the holdout is not in force:
 * with a share of 0, with fewer than two variants to choose (`no_message`: without any), or if the fixed variant may not be
 * chosen now. These conditions do not depend on the side of a person, so that both sides can be compared.
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
