import { hash } from "node:crypto"
import type { TemplateHoldout } from "../domain/Holdout.ts"

// Who is held out. Pure: the same person is always on the same side of a share.

/** Groups that people are divided into, see `placeOf`. */
export const peopleGroups = 32

/** A person as a holdout knows them. Without a user id every tracking id is a person of its own. */
export interface HoldoutSubject {
  readonly org: string
  readonly userId: string | undefined
  readonly trackingId: string
}

/**
 * Where a person stands, by a digest (SHA-256): `draw` is uniform in [0, 1), and a draw below the share is held out. It
 * depends on nothing but organization and person, so that people stay held out, in all templates, when the share grows,
 * and on every node. `people` is one of 32 groups, independent of `draw`.
 */
export const placeOf = (
  { org, trackingId, userId }: HoldoutSubject,
): { readonly draw: number; readonly people: number } => {
  const name = userId === undefined ? [org, "message", trackingId] : [org, "user", userId]
  const digest = hash("sha256", JSON.stringify(name), "buffer")
  return { draw: digest.readUIntBE(0, 6) / 2 ** 48, people: digest[6]! % peopleGroups }
}

/** On which side of a holdout a decision is. */
export type Arm = "treated" | "control"

/**
 * The side of a decision for somebody who may get the variants `eligible`; undefined where the holdout is not in force:
 * with a share of 0, with no second variant to choose (`no_message`: with none), or if the fixed variant may not be chosen
 * now. That is the same for people on both sides, so that they can be compared.
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
