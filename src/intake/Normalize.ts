import type { NotUnderstood } from "../domain/DryRun.ts"
import type { Normalized } from "../domain/Event.ts"

/** Normalizes a stored body. Pure, never throws. */
export type Normalize = (
  body: Uint8Array,
  headers: Readonly<Record<string, string>>,
  receivedAt: number,
) => Normalized | NotUnderstood

/** Normalizes a stored mail. Never fails. */
export type NormalizeMail = (...body: Parameters<Normalize>) => Promise<ReturnType<Normalize>>
