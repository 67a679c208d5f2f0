import { Result } from "effect"
import { Parser } from "htmlparser2"
import type { Fault } from "../domain/Errors.ts"
import { localeFault } from "../domain/Locale.ts"
import { atLine, type ReadTranslation, stampOf, type TranslationFile } from "./TranslationUnits.ts"

// Strings as XLIFF. Version 1.2 is written, because translation tools read it most widely. Versions 1.2 and 2 are read.

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

// XML 1.0 has no control characters.
// deno-lint-ignore no-control-regex
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

const escaped = (text: string): string =>
  text.replace(controls, "").replace(/[&<>"]/g, (sign) => entities[sign]!).replaceAll("\r", "&#13;")

/** Writes strings as XLIFF 1.2, with a `file` for each variant and locale. */
export const writeXliff = ({ defaultLocale, locales, template, units }: TranslationFile): string => {
  const variants = Map.groupBy(units, ({ variant }) => variant)
  const unitText = (tag: string, { isHtml, source, targets, variable }: TranslationFile["units"][number]): string => {
    const target = targets.get(tag)
    return `      <trans-unit id="${escaped(variable)}" xml:space="preserve"${isHtml ? ' datatype="html"' : ""}>\n` +
      `        <source>${escaped(source)}</source>\n` +
      (target === undefined ? "" : `        <target state="translated">${escaped(target)}</target>\n`) +
      `        <note from="parlance">exported:${stampOf(target)}</note>\n` +
      "      </trans-unit>\n"
  }
  const files = locales.flatMap((tag) =>
    [...variants].map(([variant, of]) =>
      `  <file original="${escaped(`${template}/${variant}`)}" source-language="${defaultLocale}" ` +
      `target-language="${tag}" datatype="plaintext">\n    <body>\n${
        of.map((unit) => unitText(tag, unit)).join("")
      }    </body>\n  </file>\n`
    )
  )
  return '<?xml version="1.0" encoding="UTF-8"?>\n' +
    `<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">\n${files.join("")}</xliff>\n`
}

/** States of targets that a tool filled with the source, until somebody translates them. */
const untranslated: ReadonlySet<string> = new Set(["new", "needs-translation", "initial"])

/** Elements within a text that mark a part of it and have no text of their own. */
const markers: ReadonlySet<string> = new Set(["mrk"])

type Attributes = Readonly<Record<string, string>>

/** A unit that is read. Version 2 has several segments in a unit, each with a source and perhaps a target. */
interface Unit {
  readonly line: number
  readonly id: string
  source: string
  target: string
  note: string
  segments: number
  targets: number
  /** The state of the last segment or target. */
  state: string
}

/** Collects the units of a document while it is parsed. */
class Reader {
  readonly translations: Array<ReadTranslation> = []
  readonly faults: Array<Fault> = []
  readonly #open: Array<string> = []
  #hasRoot = false
  #targetOfAll = ""
  #target = ""
  #variant = ""
  #unit: Unit | undefined
  #into: "note" | "source" | "target" | undefined

  constructor(readonly lineNow: () => number) {}

  fault(detail: string): void {
    if (this.faults.length < 1_000) this.faults.push(atLine(this.lineNow(), detail))
  }

  #locale(tag: string): string {
    const usual = tag.replaceAll("_", "-")
    const fault = localeFault(usual)
    if (fault !== undefined) this.fault(`the target language ${JSON.stringify(tag)} ${fault}`)
    return usual
  }

  #begin(name: string, attributes: Attributes): void {
    switch (name) {
      case "xliff": {
        const version = attributes["version"] ?? ""
        if (version !== "1.2" && !/^2\.\d$/.test(version)) {
          this.fault(`has the version ${JSON.stringify(version)}: write XLIFF 1.2 or 2.0`)
        }
        this.#targetOfAll = attributes["trgLang"] ?? ""
        return
      }
      case "file": {
        const original = attributes["original"] ?? attributes["id"] ?? ""
        this.#variant = original.slice(original.indexOf("/") + 1)
        const tag = attributes["target-language"] ?? this.#targetOfAll
        if (tag === "") this.fault("names no target language: set target-language of the file, such as de")
        else this.#target = this.#locale(tag)
        return
      }
      case "trans-unit":
      case "unit":
        this.#unit = {
          line: this.lineNow(),
          id: attributes["id"] ?? "",
          source: "",
          target: "",
          note: "",
          segments: 0,
          targets: 0,
          state: "",
        }
        return
      case "segment":
        if (this.#unit !== undefined) {
          this.#unit.segments++
          this.#unit.state = attributes["state"] ?? ""
        }
        return
      case "note":
      case "source":
      case "target":
        if (this.#open.includes("alt-trans")) return
        this.#into = name
        if (this.#unit !== undefined && name === "target") {
          if (this.#open.at(-1) === "segment") this.#unit.targets++
          this.#unit.state = attributes["state"] ?? this.#unit.state
        }
        return
      default:
        if (this.#into !== undefined && !markers.has(name)) {
          this.fault(
            `has the element <${name}> in a text: translate the text without inline elements, as it was exported`,
          )
        }
    }
  }

  open(name: string, attributes: Attributes): void {
    if (!this.#hasRoot && name !== "xliff") this.fault(`begins with <${name}>: send a file of XLIFF, or CSV`)
    this.#hasRoot = true
    this.#begin(name, attributes)
    this.#open.push(name)
  }

  text(text: string): void {
    if (this.#unit !== undefined && this.#into !== undefined) this.#unit[this.#into] += text
  }

  close(name: string, isCut: boolean): void {
    if (isCut) this.fault(`the element <${name}> is not closed: the file may be cut`)
    this.#open.pop()
    if (name === "note" || name === "source" || name === "target") this.#into = undefined
    if ((name !== "trans-unit" && name !== "unit") || this.#unit === undefined) return
    const { id, line, note, segments, source, state, target, targets } = this.#unit
    if (targets > 0 && targets < segments) {
      this.fault(`the unit ${JSON.stringify(id)} is translated in part: translate all of its segments, or none`)
    }
    const isCopy = untranslated.has(state) && target.trim() === source.trim()
    this.translations.push({
      line,
      variant: this.#variant,
      variable: id,
      locale: this.#target,
      source,
      target: isCopy ? "" : target,
      stamp: /\bexported:(\S+)/.exec(note)?.[1],
    })
    this.#unit = undefined
  }

  end(): void {
    if (!this.#hasRoot) this.fault("is no XML: send a file of XLIFF, or CSV")
  }
}

/**
 * Reads strings from XLIFF 1.2 or 2.0. Returns every fault. A target whose state says that it is not translated, and that
 * equals its source, counts as empty. Document types are refused, so that no entity is defined.
 */
export const readXliff = (file: string): Result.Result<ReadonlyArray<ReadTranslation>, ReadonlyArray<Fault>> => {
  const text = file.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n")
  let [at, line] = [0, 1]
  const parser = new Parser({
    onopentag: (name, attributes) => reader.open(name.replace(/^.*:/, ""), attributes),
    ontext: (text) => reader.text(text),
    // An element without content, such as <target/>, is closed by its own tag.
    onclosetag: (name, isImplied) =>
      reader.close(
        name.replace(/^.*:/, ""),
        isImplied && text.slice(parser.endIndex - 1, parser.endIndex + 1) !== "/>",
      ),
    onprocessinginstruction: (name) => {
      if (/^!doctype/i.test(name)) reader.fault("has a document type: remove <!DOCTYPE …>")
    },
  }, { xmlMode: true, decodeEntities: true })
  const reader = new Reader(() => {
    for (const end = parser.startIndex; at < end; at++) if (text[at] === "\n") line++
    return line
  })
  parser.end(text)
  reader.end()
  return reader.faults.length > 0 ? Result.fail(reader.faults) : Result.succeed(reader.translations)
}
