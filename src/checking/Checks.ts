import type { Fault } from "../domain/Errors.ts"
import type { Formats, Locales, Template, TemplateInput, Variant, Vars } from "../domain/Template.ts"
import type { DryRun } from "../domain/DryRun.ts"
import type { CopyPlatform } from "../domain/CopyPlatform.ts"
import type { SourceId } from "../domain/Source.ts"
import type { SourceFault } from "../text/TextFaults.ts"
import type { SnippetFileInput, SnippetSources } from "../domain/Snippet.ts"
import type { FileFault } from "../text/TextFaults.ts"

/** The Liquid of one variant. */
export interface Sources {
  readonly vars: Vars
  readonly formats: Formats
  /** The snippets that the variables render, with the snippets in them. Default: none. */
  readonly snippets?: SnippetSources
  /** Texts in other locales. Default: none. */
  readonly locales?: Locales | undefined
  /** The locale of `vars`. Default: unknown. */
  readonly locale?: string | undefined
  /** The locale to render. Default: the locale of `vars`. */
  readonly shown?: string | undefined
}

/** A place of a converted source that needs a person. */
export interface ConversionFinding {
  readonly line: number
  readonly column: number
  /** The beginning of the construct in the source. */
  readonly text: string
  /** Why a person must check the construct, with the remedy. */
  readonly message: string
  /** `mend`: remains as it was, and cannot be saved. `check`: was converted, and may mean something else. */
  readonly state: "mend" | "check"
}

/** A source in our Liquid, with every construct that a person must check. */
export interface ConvertedSource {
  /** The source in Liquid. Constructs without an equivalent remain as they were. */
  readonly liquid: string
  /** In the order of the source. */
  readonly findings: ReadonlyArray<ConversionFinding>
  /** Names of the source, and the fields that the caller passes instead. */
  readonly fields: ReadonlyArray<{ readonly from: string; readonly to: string }>
}

/** A row of copy. Its cells are the variables that it changes. */
export interface CopyRow {
  /** As spreadsheets number rows. */
  readonly row: number
  /** Id or name of the template. */
  readonly template: string
  /** Id or name of the variant. */
  readonly variant: string
  /** Locale of the texts, in its usual form. Absent: the default locale. */
  readonly locale?: string
  readonly vars: Readonly<Record<string, string>>
  /** Places of the variables, such as `column D (subject)`. */
  readonly places: Readonly<Record<string, string>>
}

/** The rows of a file. All faults and warnings begin with their place, such as `row 14, column D (subject): `. */
export interface ReadCopy {
  readonly rows: ReadonlyArray<CopyRow>
  readonly faults: ReadonlyArray<Fault>
  readonly warnings: ReadonlyArray<Fault>
}

/** Renders each variant separately with sample fields. */
export interface RenderRequest {
  readonly variants: ReadonlyArray<Sources>
  /** A JSON object as text, because values nested thousands of levels deep can be parsed, but not cloned. */
  readonly fields: string
  readonly strict: boolean
  /** Time of the rendering. Unit: Unix milliseconds. */
  readonly now: number
  /** IANA name of the time zone. */
  readonly timeZone: string
  /** Number of characters kept of each rendered variable. Default: all. */
  readonly maxText?: number
  /**
   * How the sources are checked. A `draft` is checked as before saving. Faults that only prevent saving are warnings for
   * `stored` sources. Default: no checks, no warnings.
   */
  readonly check?: "draft" | "stored"
  /** Whether `marked` contains all MJML variables, with marks of their elements (see `BlockMarks.ts`). Default: false. */
  readonly showsBlocks?: boolean
}

/** An MJML source and the HTML to which it compiles. */
export interface CompiledSource {
  readonly source: string
  readonly html: string
}

/** Faults of a variant's sources, which prevent saving, and warnings, which do not. */
export interface CheckedSources {
  readonly faults: ReadonlyArray<SourceFault>
  readonly warnings: ReadonlyArray<SourceFault>
  /** The MJML of the variant. Empty if it has faults. */
  readonly compiled: ReadonlyArray<CompiledSource>
}

/** A rendered variant, or the reason why its Liquid cannot be parsed (`source`) or rendered (`render`). */
export type Rendered =
  | {
    readonly vars: Readonly<Record<string, string>>
    readonly warnings: ReadonlyArray<SourceFault>
    /** Size of the HTML to which each MJML variable compiles, before its Liquid is rendered. Unit: bytes. */
    readonly compiled: Readonly<Record<string, number>>
    /** Names of fields that are used without a default or a test, and have no value. Empty without `check`. */
    readonly missing: ReadonlyArray<string>
    /** The variables with such fields, with marks in the place of their outputs. */
    readonly marked: Readonly<Record<string, string>>
  }
  | { readonly stage: "source" | "render"; readonly faults: ReadonlyArray<SourceFault> }

/** The templates of an import by index, with null for each template with a fault, its snippets, and all faults. */
export interface ReadImport<F> {
  readonly templates: ReadonlyArray<TemplateInput | null>
  readonly snippets: ReadonlyArray<SnippetFileInput>
  readonly faults: ReadonlyArray<F>
}

/** An import whose Liquid was checked. Warnings are no reason to refuse it. */
export interface CheckedImport<F> extends ReadImport<F> {
  readonly warnings: ReadonlyArray<F>
  readonly compiled: ReadonlyArray<CompiledSource>
}

/** The variants of a template that a file of strings changes. */
export interface Translated {
  readonly variants: ReadonlyArray<Variant>
  /** The line of each translation in the file, by variant, locale and variable as JSON. */
  readonly lines: ReadonlyMap<string, number>
}

/** The work of the checking process, by kind. */
export interface Checks {
  /** Parses and renders the Liquid of variants, without fields. Returns faults and warnings by variant. */
  readonly sources: {
    readonly request: { readonly variants: ReadonlyArray<Sources> }
    readonly answer: ReadonlyArray<CheckedSources>
  }
  readonly render: { readonly request: RenderRequest; readonly answer: ReadonlyArray<Rendered> }
  /** Decodes the JSON body of an import and checks its Liquid, with the snippets of the organization. */
  readonly import: {
    readonly request: { readonly body: string; readonly snippets: SnippetSources }
    readonly answer: CheckedImport<Fault>
  }
  /** Parses a template file (YAML or JSON) and checks its Liquid. */
  readonly file: {
    readonly request: { readonly text: string; readonly snippets: SnippetSources }
    readonly answer: CheckedImport<FileFault>
  }
  /** Converts the copy of another platform to Liquid, by variable. */
  readonly convert: {
    readonly request: Sources & { readonly from: CopyPlatform }
    readonly answer: Readonly<Record<string, ConvertedSource>>
  }
  /** Reads copy as CSV. */
  readonly copy: { readonly request: { readonly text: string }; readonly answer: ReadCopy }
  /** Applies a file of strings to a template. */
  readonly strings: {
    readonly request: { readonly template: Template; readonly text: string }
    readonly answer: { readonly faults: ReadonlyArray<Fault> } | Translated
  }
  /** Writes templates as a file. */
  readonly format: {
    readonly request: {
      readonly templates: ReadonlyArray<TemplateInput>
      readonly snippets: ReadonlyArray<SnippetFileInput>
      readonly as: "yaml" | "json"
    }
    readonly answer: string
  }
  /** Runs a mapping on a sample body. Both are JSON as text. Faults have pointers into the mapping. */
  readonly mapping: {
    readonly request: {
      readonly mapping: string
      readonly body: string
      readonly headers: Readonly<Record<string, string>>
      readonly receivedAt: number
    }
    readonly answer: { readonly run: DryRun } | { readonly faults: ReadonlyArray<Fault> }
  }
  /** Reads a sample body of a source. `reading` has the organization's settings, if they differ from the default. */
  readonly body: {
    readonly request: {
      readonly source: SourceId
      readonly reading: unknown
      readonly body: string
      readonly headers: Readonly<Record<string, string>>
      readonly receivedAt: number
    }
    readonly answer: DryRun
  }
}

/** A kind of work of the checking process. */
export type CheckKind = keyof Checks

/** A request to the checking process. */
export type CheckRequest = {
  [Kind in CheckKind]: { readonly kind: Kind } & Checks[Kind]["request"]
}[CheckKind]
