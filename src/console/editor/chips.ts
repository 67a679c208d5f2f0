// Shows the Liquid of a text as chips in the code editor. The text stays Liquid. Liquid with the cursor in it or with an error
// is shown as code.
import { isolateHistory, redo, undo } from "@codemirror/commands"
import { forEachDiagnostic } from "@codemirror/lint"
import { type EditorState, type Extension, StateField } from "@codemirror/state"
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view"
import type { Span } from "../../checker/MjmlTokens.ts"
import { finishedLiquid } from "../blocks/Liquid.ts"
import { make, need } from "../browser/dom.ts"
import { t } from "../browser/language.ts"
import { chipOf, liquidInputs, toolOf } from "./richField.ts"

/** Liquid that is shown as a chip. */
interface ShownLiquid {
  readonly span: Span
  readonly isWarned: boolean
}

/** Returns the Liquid of a text that is shown as chips. */
const chipsIn = (state: EditorState): ReadonlyArray<ShownLiquid> => {
  const found: Array<{ readonly isWarning: boolean; readonly from: number; readonly to: number }> = []
  forEachDiagnostic(state, ({ severity }, from, to) => found.push({ isWarning: severity === "warning", from, to }))
  const text = state.doc.toString()
  return finishedLiquid(text).flatMap((span): ReadonlyArray<ShownLiquid> => {
    const [from, to] = span
    const hasInside = (at: number) => from < at && at < to
    const own = found.filter((one) => one.from < to && from < one.to)
    const isCode = text.slice(from, to).includes("\n") || own.some(({ isWarning }) => !isWarning) ||
      state.selection.ranges.some(({ anchor, head }) => hasInside(anchor) || hasInside(head))
    return isCode ? [] : [{ span, isWarned: own.length > 0 }]
  })
}

/** A chip in the editor. A click, Enter or the space bar opens it. */
class Chip extends WidgetType {
  readonly liquid: string
  readonly isWarned: boolean
  readonly #open: (chip: HTMLElement) => void

  constructor(liquid: string, isWarned: boolean, open: (chip: HTMLElement) => void) {
    super()
    this.liquid = liquid
    this.isWarned = isWarned
    this.#open = open
  }

  override eq({ isWarned, liquid }: Chip): boolean {
    return liquid === this.liquid && isWarned === this.isWarned
  }

  override toDOM(): HTMLElement {
    const chip = chipOf(this.liquid)
    if (this.isWarned) chip.classList.add("cm-lintRange-warning")
    chip.addEventListener("click", () => this.#open(chip))
    chip.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return
      event.preventDefault()
      this.#open(chip)
    })
    return chip
  }
}

/** The chips of one editor, the inputs of the open chip, and the button that inserts a field. */
export class Chips {
  /** Shows the chips. */
  readonly extension: Extension
  /** Above the editor. */
  readonly tools: HTMLElement
  /** Below the editor: the inputs of the open chip. */
  readonly inspector = make("div", { class: "inspector", hidden: true })
  readonly #view: () => EditorView
  readonly #list: HTMLDataListElement
  /** The place of the open chip. */
  #open: Span = [0, 0]
  /** Whether the open chip is unchanged. */
  #isFresh = true
  /** Whether the inputs make the present change, so that they stay as they are. */
  #isOwn = false

  /** `id`: an id for the list of `fields`. */
  constructor(view: () => EditorView, id: string, fields: ReadonlyArray<string>) {
    this.#view = view
    this.#list = make("datalist", { id }, ...fields.map((value) => make("option", { value })))
    this.tools = make(
      "div",
      { class: "rich-tools text-tools" },
      toolOf(t`Insert field`, () => this.#insert()),
      this.#list,
    )
    const open = (chip: HTMLElement) => {
      const from = view().posAtDOM(chip)
      this.#show([from, from + chip.dataset["liquid"]!.length])
    }
    const decorations = (state: EditorState): DecorationSet =>
      Decoration.set(
        chipsIn(state).map(({ isWarned, span }) =>
          Decoration.replace({ widget: new Chip(state.sliceDoc(...span), isWarned, open) }).range(...span)
        ),
      )
    const field = StateField.define<DecorationSet>({
      create: decorations,
      update: (_, { state }) => decorations(state),
      provide: (one) => [
        EditorView.decorations.from(one),
        EditorView.atomicRanges.of(({ state }) => state.field(one, false) ?? Decoration.none),
      ],
    })
    this.extension = [
      field,
      EditorView.updateListener.of(({ docChanged }) => {
        if (docChanged && !this.#isOwn) this.inspector.hidden = true
      }),
      EditorView.domEventHandlers({ focus: () => void (this.inspector.hidden = true) }),
    ]
    this.inspector.addEventListener("keydown", (event) => this.#key(event))
  }

  /** Undo is for the text, and closes the inputs. Enter and Escape close them. */
  #key(event: KeyboardEvent): void {
    const key = event.key.toLowerCase()
    const isHistory = (event.ctrlKey || event.metaKey) && (key === "z" || key === "y")
    const isInput = event.target instanceof HTMLInputElement
    if (!isHistory && key !== "escape" && !(key === "enter" && isInput)) return
    event.preventDefault()
    if (isHistory) (key === "z" && !event.shiftKey ? undo : redo)(this.#view())
    this.#view().focus()
  }

  /** Replaces the open chip. */
  #set(liquid: string): void {
    const [from, to] = this.#open
    this.#isOwn = true
    this.#view().dispatch({
      changes: { from, to, insert: liquid },
      userEvent: "input.type",
      // All changes of an open chip are one step of undo.
      ...(this.#isFresh ? { annotations: isolateHistory.of("before") } : {}),
    })
    this.#isOwn = this.#isFresh = false
    this.#open = [from, from + liquid.length]
  }

  #show(open: Span): void {
    this.#open = open
    this.#isFresh = true
    const view = this.#view()
    const liquid = view.state.sliceDoc(...open)
    this.inspector.replaceChildren(
      ...liquidInputs(liquid, this.#list.id, (value) => this.#set(value)),
      toolOf(t`Edit as code`, () => {
        view.dispatch({ selection: { anchor: Math.max(this.#open[0], this.#open[1] - 2) } })
        view.focus()
      }),
      toolOf(t`Remove`, () => {
        this.#set("")
        view.focus()
      }),
    )
    this.inspector.hidden = false
    need<HTMLInputElement>(this.inspector, "input").focus()
  }

  #insert(): void {
    const view = this.#view()
    const { from, to } = view.state.selection.main
    const liquid = "{{ first_name }}"
    view.dispatch({
      changes: { from, to, insert: liquid },
      selection: { anchor: from + liquid.length },
      userEvent: "input",
    })
    this.#show([from, from + liquid.length])
    need<HTMLInputElement>(this.inspector, "input").select()
  }
}
