import type { NotUnderstood } from "../domain/DryRun.ts"
import type { Normalized } from "../domain/Event.ts"

/** Brings a stored body to the normal form. Pure, and never throws. */
export type Normalize = (
  body: Uint8Array,
  headers: Readonly<Record<string, string>>,
  receivedAt: number,
) => Normalized | NotUnderstood

/** Brings a stored mail to the normal form. Never fails. */
export type NormalizeMail = (...body: Parameters<Normalize>) => Promise<ReturnType<Normalize>>
