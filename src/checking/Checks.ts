import type { Fault } from "../domain/Errors.ts"
import type { Formats, TemplateInput, Vars } from "../domain/Template.ts"
import type { DryRun } from "../domain/DryRun.ts"
import type { SourceFault } from "../domain/TextFaults.ts"
import type { FileFault } from "../domain/TextFaults.ts"

/** The Liquid of one variant. */
export interface Sources {
  readonly vars: Vars
  readonly formats: Formats
}

/** Renders variants with sample fields, each by itself. */
export interface RenderRequest {
  readonly variants: ReadonlyArray<Sources>
  /** A JSON object as text: values that are nested thousands deep can be parsed, but not cloned. */
  readonly fields: string
  readonly strict: boolean
  /** Unix milliseconds. */
  readonly now: number
  /** IANA name. */
  readonly timeZone: string
  /** Characters kept of each rendered variable; all by default. */
  readonly maxText?: number
}

/** A variant as it is rendered, or why its Liquid cannot be parsed (`source`) or rendered (`render`). */
export type Rendered =
  | { readonly vars: Readonly<Record<string, string>> }
  | { readonly stage: "source" | "render"; readonly faults: ReadonlyArray<SourceFault> }

/** The templates of an import by index, null for each with a fault, and all faults. */
export interface CheckedImport<F> {
  readonly templates: ReadonlyArray<TemplateInput | null>
  readonly faults: ReadonlyArray<F>
}

/** The work of the checking process, by kind. */
export interface Checks {
  /** Parses and renders the Liquid of variants, without fields. Faults by variant. */
  readonly sources: {
    readonly request: { readonly variants: ReadonlyArray<Sources> }
    readonly answer: ReadonlyArray<ReadonlyArray<SourceFault>>
  }
  readonly render: { readonly request: RenderRequest; readonly answer: ReadonlyArray<Rendered> }
  /** Decodes the JSON body of an import and checks its Liquid. */
  readonly import: { readonly request: { readonly body: string }; readonly answer: CheckedImport<Fault> }
  /** Parses a template file (YAML or JSON) and checks its Liquid. */
  readonly file: { readonly request: { readonly text: string }; readonly answer: CheckedImport<FileFault> }
  /** Writes templates as a file. */
  readonly format: {
    readonly request: { readonly templates: ReadonlyArray<TemplateInput>; readonly as: "yaml" | "json" }
    readonly answer: string
  }
  /** Runs a mapping on a sample body; both are JSON as text. Faults have pointers into the mapping. */
  readonly mapping: {
    readonly request: {
      readonly mapping: string
      readonly body: string
      readonly headers: Readonly<Record<string, string>>
      readonly receivedAt: number
    }
    readonly answer: { readonly run: DryRun } | { readonly faults: ReadonlyArray<Fault> }
  }
}

export type CheckKind = keyof Checks

/** A request to the checking process. */
export type CheckRequest = {
  [Kind in CheckKind]: { readonly kind: Kind } & Checks[Kind]["request"]
}[CheckKind]
