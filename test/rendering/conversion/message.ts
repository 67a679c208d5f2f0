import type { CopyPlatform } from "../../../src/domain/CopyPlatform.ts"

/** A message in the style of a platform. */
export interface Message {
  readonly from: CopyPlatform
  readonly source: string
  /** Default: `html`. */
  readonly format?: "text" | "html"
  /** Fields of a request, with the text that the platform shows for the same data. */
  readonly shows?: ReadonlyArray<readonly [fields: Readonly<Record<string, unknown>>, text: string]>
  /** Words of the remedies of everything without an equivalent, in the order of the source. Default: none. */
  readonly mend?: ReadonlyArray<RegExp>
  /** Words of findings that a person should check. Default: not compared. */
  readonly check?: ReadonlyArray<RegExp>
}
