import type { Fault } from "../../domain/Errors.ts"

/** Whether a header `Idempotency-Key` is valid: 1 to 255 printable ASCII characters. */
export const isIdempotencyKey = (text: string): boolean => /^[\x20-\x7e]{1,255}$/.test(text)

/** The fault of a header `Idempotency-Key` that is not valid. */
export const keyFault: Fault = {
  pointer: "Idempotency-Key",
  detail: "must have 1 to 255 printable ASCII characters",
}
