import * as Limits from "../Limits.ts"
import type { ConversionFinding } from "../../checking/Checks.ts"
import { foreignNotations } from "../dialects/Dialects.ts"
import { excerptOf, snippetIdOf, writeOut } from "../dialects/Notation.ts"
import { type CopyTest, ExpressionWriter, NoEquivalent, type Value } from "./Expression.ts"

/** Where a check finds faults of the result: `offset` of the checked text is `at` in the source. */
export interface Segment {
  readonly offset: number
  readonly at: number
}

type Block = {
  /** The word that opened the block, such as `if`. */
  readonly name: string
  readonly at: number
  /** Whether the block has no equivalent and remains as it was. */
  readonly isKept: boolean
  /** Liquid that ends the block. A conversion of `elsif` may add to it. */
  end: string
  readonly onEnd: (() => void) | undefined
}

/** Maximum number of reported findings. */
const maxFindings = 200

/** Collects the converted source, the findings and the fields. All families of languages write to it. */
export class Result {
  readonly findings: Array<ConversionFinding> = []
  readonly fields = new Map<string, string>()
  /** The ids of snippets that the result renders. */
  readonly snippets = new Set<string>()
  readonly segments: Array<Segment> = []
  readonly writer: ExpressionWriter
  #made = ""
  #checked = ""
  #names = 0
  /** Whether a name that begins with a stem occurs in the source. */
  readonly #stems = new Map<string, boolean>()
  readonly #blocks: Array<Block> = []
  readonly #lines: Array<number> = [0]

  constructor(readonly source: string) {
    for (let at = source.indexOf("\n"); at !== -1; at = source.indexOf("\n", at + 1)) this.#lines.push(at + 1)
    this.writer = new ExpressionWriter(() => this.newName("value"))
  }

  get liquid(): string {
    return this.#made
  }

  /** The converted source with a neutral text in place of everything that has no equivalent. */
  get checked(): string {
    return this.#checked
  }

  /** The innermost open block. */
  get block(): Block | undefined {
    return this.#blocks.at(-1)
  }

  /** Returns a name that occurs nowhere in the source. */
  newName(stem: string): string {
    let mayOccur = this.#stems.get(stem)
    if (mayOccur === undefined) this.#stems.set(stem, mayOccur = this.source.includes(`${stem}_`))
    for (;;) {
      const name = `${stem}_${++this.#names}`
      if (!mayOccur || !this.source.includes(name)) return name
    }
  }

  /** Adds text that was made from the source at `at`. */
  emit(text: string, at: number, checked = text): void {
    this.segments.push({ offset: this.#checked.length, at })
    this.#made += text
    this.#checked += checked
  }

  /** Returns the tag of a snippet, which a person must save. `args` are its arguments in Liquid. */
  snippet(name: string, text: string, at: number, args: ReadonlyArray<string> = []): string {
    const id = snippetIdOf(name)
    if (id === "") throw new NoEquivalent(writeOut)
    this.snippets.add(id)
    this.find(
      "check",
      at,
      text,
      `Save the shared block as the snippet ${id}. It sees only the arguments of the tag, such as name: first_name`,
    )
    return `{% render '${id}'${args.map((arg) => `, ${arg}`).join("")} %}`
  }

  placeOf(at: number): { readonly line: number; readonly column: number } {
    let low = 0
    let high = this.#lines.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (this.#lines[middle]! <= at) low = middle
      else high = middle
    }
    return { line: low + 1, column: at - this.#lines[low]! + 1 }
  }

  find(state: ConversionFinding["state"], at: number, text: string, message: string): void {
    if (this.findings.length >= maxFindings) return
    const place = this.placeOf(at)
    if (this.findings.some((one) => one.line === place.line && one.column === place.column && one.state === state)) {
      return
    }
    this.findings.push({ ...place, text: excerptOf(text), message, state })
  }

  /** Notes a field that the caller passes, and returns its path in Liquid. */
  field(from: string, to: string): string {
    if (!this.fields.has(from) && this.fields.size < 1_000) this.fields.set(from, to)
    return to
  }

  /** Leaves a construct without an equivalent as it was. `???` marks one that would be valid here. */
  keep(text: string, at: number, remedy: string, checked = ""): void {
    this.find("mend", at, text, remedy)
    const isValid = /^\{[{%]/.test(text) && !text.includes("???") && foreignNotations(text).length === 0
    this.emit(isValid ? text.replace(/\s*(-?[%}]\})$/, " ??? $1") : text, at, checked)
  }

  /**
   * Converts a construct, or leaves it as it was if it has no equivalent. `checked` is a neutral text of the same
   * structure.
   */
  convert(text: string, at: number, make: () => string, checked = ""): boolean {
    try {
      this.emit(make(), at)
      return true
    } catch (error) {
      if (!(error instanceof NoEquivalent)) throw error
      this.keep(text, at, error.remedy, checked)
      return false
    }
  }

  /** Opens a block. `make` returns Liquid whose last tag opens a block that `end` ends. */
  open(name: string, text: string, at: number, end: string, make: () => string, onEnd?: () => void): void {
    if (this.#blocks.length >= Limits.nesting) {
      throw new NoEquivalent(`Blocks can be nested up to ${Limits.nesting} levels deep`)
    }
    const isMade = this.convert(text, at, make, "{% if true %}")
    this.#blocks.push({ name, at, isKept: !isMade, end: isMade ? end : text, onEnd })
  }

  /** Opens a block that shows its content if a condition holds. */
  openIf(name: string, text: string, at: number, test: () => CopyTest, onEnd?: () => void): void {
    this.open(name, text, at, "{% endif %}", () => {
      const written = this.writer.condition(test())
      return `${written.before}{% if ${written.text} %}`
    }, onEnd)
  }

  /** Opens a block without Liquid of its own, such as a scope. */
  openScope(name: string, at: number, onEnd?: () => void): void {
    this.open(name, "", at, "", () => "", onEnd)
  }

  /** Opens a block without an equivalent, whose tags remain as they are. */
  openKept(name: string, text: string, at: number, remedy: string): void {
    this.open(name, text, at, "", () => {
      throw new NoEquivalent(remedy)
    })
  }

  /** Adds a branch to the innermost block. Returns whether there is one. */
  branch(text: string, at: number, test?: () => CopyTest): void {
    const block = this.block
    if (block === undefined) return this.keep(text, at, "Begin a condition before it: nothing is open here")
    if (block.isKept) return this.emit(text, at, "{% else %}")
    if (test === undefined) return this.emit("{% else %}", at)
    this.convert(text, at, () => {
      const written = this.writer.condition(test())
      if (written.before === "") return `{% elsif ${written.text} %}`
      block.end += "{% endif %}"
      return `{% else %}${written.before}{% if ${written.text} %}`
    }, "{% else %}")
  }

  /** Ends the innermost block. */
  close(text: string, at: number): void {
    const block = this.#blocks.pop()
    if (block === undefined) return this.keep(text, at, "Remove it: it ends nothing")
    block.onEnd?.()
    if (block.isKept) this.emit(text, at, "{% endif %}")
    else this.emit(block.end, at)
  }

  /** Reports blocks without an end. */
  finish(): void {
    for (const { at } of this.#blocks.splice(0)) {
      this.find("mend", at, this.source.slice(at, at + 60), "Write the end of this block: it has none")
    }
  }

  show(value: Value, raw = false): string {
    return this.writer.output(value, raw)
  }
}
