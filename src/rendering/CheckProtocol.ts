import type { Formats, Vars } from "../domain/Template.ts"
import type { SourceFault } from "./Renderer.ts"

/** What `SourceCheck` and its process say to each other: one JSON value a line. */
export interface CheckRequest {
  readonly vars: Vars
  readonly formats: Formats
  readonly fields: Readonly<Record<string, unknown>>
}

/** `ready` once; then for each request `begun` with each variable about to be parsed, and `faults` at the end. */
export type CheckAnswer =
  | { readonly type: "ready" }
  | { readonly type: "begun"; readonly variable: string }
  | { readonly type: "faults"; readonly faults: ReadonlyArray<SourceFault> }
