import type { Fault } from "../domain/Errors.ts"
import { sha256 } from "../text/Sha256.ts"

// The texts and translations of a file of strings.

/** One text of a variant to translate. */
export interface TranslationUnit {
  readonly variant: string
  readonly variable: string
  /** The text in the default locale. */
  readonly source: string
  readonly isHtml: boolean
  /** The translations by locale. Locales without a translation are absent. */
  readonly targets: ReadonlyMap<string, string>
}

/** A translation in a file. */
export interface ReadTranslation {
  readonly line: number
  readonly variant: string
  readonly variable: string
  readonly locale: string
  /** The text in the default locale when the file was exported. */
  readonly source: string
  readonly target: string
  /** The stamp of the translation when the file was exported. Undefined if the file has none. */
  readonly stamp: string | undefined
}

/** Returns a text that differs for another translation: 8 letters and digits, or `-` for none. */
export const stampOf = (target: string | undefined): string =>
  target === undefined ? "-" : sha256(target.replaceAll("\r\n", "\n").trim()).slice(0, 8)

/** The file of a template. */
export interface TranslationFile {
  readonly template: string
  readonly defaultLocale: string
  readonly locales: ReadonlyArray<string>
  readonly units: ReadonlyArray<TranslationUnit>
}

/** Returns a fault at a line of a file. */
export const atLine = (line: number, detail: string): Fault => ({ pointer: `/line/${line}`, detail })
