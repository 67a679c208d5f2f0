// Shows the blocks of an MJML body in place of its code. Each button and field changes the text of the code editor, which
// also undoes the change.
import { redo, undo } from "@codemirror/commands"
import type { EditorView } from "@codemirror/view"
import {
  add,
  type AddedKind,
  addSnippet,
  alone,
  duplicate,
  type Edit,
  elementKinds,
  move,
  moveTo,
  remove,
  sectionKinds,
  setAttribute,
  setContent,
} from "../blocks/Edits.ts"
import { type BlockField, fieldsOf, hexOf, pixelsOf, shownValue, titleOf } from "../blocks/Forms.ts"
import { type Block, blockAt, type Outline, outlineOf } from "../blocks/Outline.ts"
import { attributeOf, plainOf, richOf, sourceOf } from "../blocks/RichText.ts"
import { all, around, make } from "../browser/dom.ts"
import { openChoice, openImages } from "../browser/insertImage.ts"
import { english, t, translated } from "../browser/language.ts"
import { richField, valueIn } from "./richField.ts"

/** The parts of the page that the blocks of a variable need. */
export interface BlocksPlace {
  readonly view: EditorView
  readonly area: HTMLTextAreaElement
  /** Label of the variable. */
  readonly label: string
  readonly fields: ReadonlyArray<string>
  /** Path of the images of the organization. */
  readonly images: string
  /** Path of the snippets of the organization. Empty if the visitor may not save one. */
  readonly snippets: string
  /** Called when another block opens, or the open one closes. */
  readonly chosen: () => void
}

type Path = ReadonlyArray<number>

const addedNames: { readonly [kind in AddedKind]: string } = {
  heading: english("Heading"),
  text: english("Text"),
  button: english("Button"),
  image: english("Image"),
  divider: english("Divider"),
  spacer: english("Empty space"),
  section: english("Section"),
  columns: english("Two columns"),
}

/** The blocks of one variable. */
export class BlockList {
  readonly panel = make("div", { class: "blocks", tabindex: "-1" })
  readonly #place: BlocksPlace
  #outline: Outline | undefined
  /** Whether a field of the blocks makes the present change, so that it stays as it is. */
  #isOwn = false

  constructor(place: BlocksPlace) {
    this.#place = place
    place.area.addEventListener("input", () => this.changed())
    place.area.addEventListener("replaced", () => this.changed())
    // The code editor tells of changes itself. Fields of the blocks have no name, and are not sent.
    for (const type of ["input", "change"]) this.panel.addEventListener(type, (event) => event.stopPropagation())
    this.panel.addEventListener("keydown", (event) => this.#key(event))
    this.panel.addEventListener("beforeinput", (event) => {
      if (event.inputType !== "historyUndo" && event.inputType !== "historyRedo") return
      event.preventDefault()
      this.#history(event.inputType === "historyUndo")
    })
    this.#takeDrops()
    this.changed()
  }

  /** Moves a row that is dragged onto another one: before it in its upper half, otherwise behind it. */
  #takeDrops(): void {
    let dragged: number | undefined
    const startOf = (row: HTMLElement | null) =>
      this.#outline && row ? blockAt(this.#outline, pathIn(row.dataset))?.from : undefined
    const rowOf = ({ target }: DragEvent) => around(target, "details.block")
    const mark = (row?: HTMLElement, side = "") => {
      for (const one of all(this.panel, "[data-drop]")) delete one.dataset["drop"]
      if (row !== undefined) row.dataset["drop"] = side
    }
    this.panel.addEventListener("dragstart", (event) => {
      dragged = startOf(rowOf(event))
      event.dataTransfer?.setData("text/plain", "")
    })
    for (const type of ["dragover", "drop"] as const) {
      this.panel.addEventListener(type, (event) => {
        const row = rowOf(event)
        const to = startOf(row)
        if (row === null || to === undefined || dragged === undefined) return mark()
        const { height, top } = row.getBoundingClientRect()
        const isBefore = event.clientY < top + height / 2
        const edit = this.#outline && moveTo(this.#outline, dragged, to, isBefore)
        if (edit === undefined) return mark()
        event.preventDefault()
        mark(row, isBefore ? "before" : "after")
        if (type === "drop") this.#act(edit, "")
      })
    }
    this.panel.addEventListener("dragend", () => {
      dragged = undefined
      mark()
    })
  }

  /** The path of the open block. */
  get open(): string | undefined {
    return this.panel.querySelector<HTMLElement>("details.block[open]")?.dataset["path"]
  }

  /** Returns the path of the block whose opening tag begins at an offset. */
  pathAt(offset: number): string | undefined {
    const search = (block: Block, path: Path): Path | undefined => {
      for (const [index, child] of block.children.entries()) {
        const own = [...path, index]
        if (child.tag[0] === offset && child.kind !== "branch") return own
        const found = child.from < offset && offset < child.to ? search(child, own) : undefined
        if (found !== undefined) return found
      }
      return undefined
    }
    return this.#outline && search(this.#outline.body, [])?.join(".")
  }

  /** Opens the block at a path, and focuses its form. The only column of a section has no form: its section opens. */
  choose(path: string): void {
    const rowAt = (path: string) => this.panel.querySelector<HTMLDetailsElement>(`details.block[data-path="${path}"]`)
    const row = rowAt(path) ?? rowAt(path.replace(/\.\d+$/, ""))
    if (row === null) return
    row.open = true
    this.#fill(row)
    row.scrollIntoView({ block: "nearest" })
    ;(row.querySelector<HTMLElement>(".block-form :is(.rich, input, select, textarea)") ?? row.querySelector("summary"))
      ?.focus({ preventScroll: true })
  }

  get isReadable(): boolean {
    return this.#outline !== undefined
  }

  /** Shows the source as it is now. */
  changed(): void {
    const before = this.#outline
    this.#outline = outlineOf(this.#place.view.state.doc.toString())
    if (!this.#isOwn && !this.panel.hidden) this.#show(before)
  }

  #key(event: KeyboardEvent): void {
    const key = event.key.toLowerCase()
    if ((event.ctrlKey || event.metaKey) && (key === "z" || key === "y")) {
      event.preventDefault()
      this.#history(key === "z" && !event.shiftKey)
    } else if (key === "enter" && event.target instanceof HTMLInputElement) event.preventDefault()
  }

  #history(isUndo: boolean): void {
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset["key"] : undefined
    ;(isUndo ? undo : redo)(this.#place.view)
    // The focus stays in the panel, so that the next key is for it.
    const same = focused === undefined ? undefined : all(this.panel, `[data-key="${CSS.escape(focused)}"]`)[0]
    ;(same ?? this.panel).focus()
  }

  /** Changes the source. A field keeps its place on the page. */
  #edit(edit: Edit, isOwn: boolean): void {
    this.#isOwn = isOwn
    this.#place.view.dispatch({ changes: [...edit.changes], userEvent: isOwn ? "input.type" : "input" })
    this.#isOwn = false
  }

  /** Carries out an action of a button, and opens the block of it. */
  #act(edit: Edit | undefined, button: string): void {
    if (edit === undefined) return
    this.#edit(edit, false)
    const row = all<HTMLDetailsElement>(this.panel, "details.block").find(({ dataset }) => {
      const block = this.#outline && blockAt(this.#outline, pathIn(dataset))
      return block?.from === edit.at
    })
    if (row === undefined) return this.panel.querySelector<HTMLElement>("summary")?.focus()
    row.open = true
    this.#fill(row)
    row.scrollIntoView({ block: "nearest" })
    const same = row.querySelector<HTMLButtonElement>(`button[data-do="${button}"]:enabled`)
    ;(same ?? row.querySelector("summary"))?.focus()
  }

  /** Shows all rows. The open block stays open, also if it has moved. */
  #show(before = this.#outline): void {
    const outline = this.#outline
    const textIn = (outline: Outline | undefined, path: Path) => {
      const block = outline && blockAt(outline, path)
      return block && outline.source.slice(block.from, block.to)
    }
    const [open] = all<HTMLDetailsElement>(this.panel, "details.block[open]").map(({ dataset }) => pathIn(dataset))
    if (outline === undefined) {
      const text =
        t`This MJML cannot be shown as blocks. Its tags are not closed, or Liquid opens in one block and closes in
          another.`
      return this.panel.replaceChildren(make("p", { class: "hint" }, text))
    }
    const tool = (word: string, run: () => void) => {
      const button = make("button", { type: "button", class: "button compact", "data-key": word }, word)
      button.addEventListener("click", run)
      return button
    }
    const list = make("datalist", { id: this.#list }, ...this.#place.fields.map((value) => make("option", { value })))
    this.panel.replaceChildren(
      make(
        "div",
        { class: "block-tools" },
        tool(t`Undo`, () => this.#history(true)),
        tool(t`Redo`, () => this.#history(false)),
      ),
      this.#rows(outline, outline.body, []),
      ...(outline.body.children.length === 0 ? [this.#adding(sectionKinds, [])] : []),
      list,
    )
    if (open === undefined) return
    const rows = all<HTMLDetailsElement>(this.panel, "details.block")
    const row = rows.find(({ dataset }) => textIn(outline, pathIn(dataset)) === textIn(before, open)) ??
      rows.find(({ dataset }) => dataset["path"] === open.join("."))
    if (row === undefined) return
    row.open = true
    this.#fill(row)
  }

  get #list(): string {
    return `${this.#place.area.name}_fields`
  }

  /** The rows of a block's children. The only column of a section has no row of its own. */
  #rows(outline: Outline, { children, kind }: Block, path: Path): HTMLOListElement {
    const rows = children.map((child, index) => {
      const own = [...path, index]
      const isOnly = kind === "section" && child.kind === "column" && children.length === 1
      return isOnly
        ? this.#inner(outline, child, own)
        : make("li", {}, this.#row(outline, child, own, index), this.#inner(outline, child, own))
    })
    const flat = rows.flatMap((row) => row instanceof HTMLOListElement ? [...row.children] : [row])
    return make("ol", { class: "block-list" }, ...flat)
  }

  #inner(outline: Outline, block: Block, path: Path): HTMLElement {
    if (block.children.length > 0) return this.#rows(outline, block, path)
    return block.kind === "column"
      ? make("ol", {}, make("li", {}, this.#adding(elementKinds, path)))
      : make("ol", { hidden: true })
  }

  #row(outline: Outline, block: Block, path: Path, index: number): HTMLElement {
    const { excerpt, name } = titleOf(outline, block)
    const title = block.kind === "column" ? `${name} ${index + 1}` : name
    const words = [make("b", {}, title), " ", make("span", { class: "muted", dir: "auto" }, excerpt)]
    if (block.kind === "branch") return make("p", { class: "block" }, ...words)
    const row = make(
      "details",
      { class: `block of-${block.kind}`, name: this.#list, "data-path": path.join(".") },
      make("summary", { draggable: "true" }, ...words),
    )
    row.addEventListener("toggle", () => {
      this.#fill(row)
      this.#place.chosen()
    })
    return row
  }

  /** Makes the buttons and fields of a row when it opens. */
  #fill(row: HTMLDetailsElement): void {
    const outline = this.#outline
    const path = pathIn(row.dataset)
    const block = outline && blockAt(outline, path)
    if (!row.open || block === undefined || outline === undefined || row.children.length > 1) return
    const action = (name: string, word: string, edit: (outline: Outline, at: number) => Edit | undefined) => {
      const button = make("button", { type: "button", class: "button compact", "data-do": name }, word)
      button.disabled = edit(outline, block.from) === undefined
      button.addEventListener("click", () => {
        const now = this.#now(path)
        if (now !== undefined) this.#act(edit(now.outline, now.block.from), name)
      })
      return button
    }
    row.append(make(
      "div",
      { class: "stack tight block-form" },
      make(
        "div",
        { class: "buttons" },
        action("up", t`Move up`, (outline, at) => move(outline, at, -1)),
        action("down", t`Move down`, (outline, at) => move(outline, at, 1)),
        action("duplicate", t`Duplicate`, duplicate),
        action("remove", t`Remove`, remove),
        ...(this.#place.snippets === "" || block.kind === "branch" ? [] : [this.#saving(path)]),
      ),
      ...this.#form(outline, block, path),
      ...this.#addable(outline, path).map((kinds) => this.#adding(kinds, path)),
    ))
  }

  /** The kinds that can be added below a block. Empty for columns. */
  #addable(outline: Outline, path: Path): ReadonlyArray<ReadonlyArray<AddedKind>> {
    const parents = path.map((_, length) => blockAt(outline, path.slice(0, length))?.kind)
    const parent = parents.findLast((kind) => kind !== "liquid")
    return parent === "group" ? [sectionKinds] : parent === "column" ? [elementKinds] : []
  }

  /** The button that opens the form of a new snippet with the HTML of a block. */
  #saving(path: Path): HTMLElement {
    const button = make("button", { type: "button", class: "button compact" }, t`Save as snippet`)
    button.addEventListener("click", () => {
      const now = this.#now(path)
      const text = now && alone(now.outline, now.block.from)
      if (text === undefined) return
      const value = (name: string) =>
        this.#place.area.form?.querySelector<HTMLInputElement>(`[name=${name}]`)?.value ?? ""
      const hidden = (name: string, value: string) => make("input", { type: "hidden", name, value })
      const form = make(
        "form",
        { method: "post", action: `${this.#place.snippets}/-/from-block`, target: "_blank", hidden: true },
        hidden("_csrf", value("_csrf")),
        hidden("text", text),
      )
      document.body.append(form)
      form.submit()
      form.remove()
    })
    return button
  }

  #now(path: Path): { readonly outline: Outline; readonly block: Block } | undefined {
    const block = this.#outline && blockAt(this.#outline, path)
    return this.#outline && block && { outline: this.#outline, block }
  }

  #adding(kinds: ReadonlyArray<AddedKind>, path: Path): HTMLElement {
    const buttons = kinds.map((kind) => {
      const button = make("button", { type: "button", class: "button compact" }, translated(addedNames[kind]))
      button.addEventListener("click", () => {
        const now = this.#now(path)
        if (now !== undefined) this.#act(add(now.outline, now.block.from, kind), "")
      })
      return button
    })
    const snippet = make("button", { type: "button", class: "button compact" }, t`Snippet`)
    snippet.addEventListener(
      "click",
      () =>
        openChoice(this.#place.snippets, t`Snippets`, "[data-snippets]", ({ tag = "" }) => {
          const now = this.#now(path)
          const edit = now && addSnippet(now.outline, now.block.from, tag, kinds === sectionKinds)
          if (now !== undefined) this.#act(edit, "")
        }),
    )
    return make(
      "div",
      { class: "block-add" },
      make("span", { class: "small muted" }, t`Add below`),
      ...buttons,
      ...(this.#place.snippets === "" ? [] : [snippet]),
    )
  }

  #form(outline: Outline, block: Block, path: Path): ReadonlyArray<HTMLElement> {
    const form = fieldsOf[block.kind]
    if (form === undefined) {
      const hint = block.kind === "liquid"
        ? t`Move, duplicate or remove it with its blocks.`
        : t`Change it in the code.`
      return [make("p", { class: "hint" }, hint)]
    }
    const input = (one: BlockField) => this.#input(outline, block, path, one)
    return [
      ...(form.hasText ? [this.#text(outline, block, path)] : []),
      ...form.main.map(input),
      ...(form.look.length === 0 ? [] : [
        make(
          "details",
          { class: "block-look", open: form.main.length === 0 && !form.hasText },
          make("summary", {}, t`Look and spacing`),
          make("div", { class: "look-fields" }, ...form.look.map(input)),
        ),
      ]),
    ]
  }

  /** The text of a block, or its HTML if the editor cannot show it. */
  #text({ source }: Outline, block: Block, path: Path): HTMLElement {
    const content = block.content === undefined ? "" : source.slice(...block.content)
    const [lead = "", trail = ""] = [/^\s*/.exec(content)?.[0], content.trim() === "" ? "" : /\s*$/.exec(content)?.[0]]
    const set = (text: string) => {
      const now = this.#now(path)
      if (now !== undefined) this.#edit(setContent(now.block, lead + text + trail), true)
    }
    const nodes = richOf(content.trim())
    if (nodes === undefined) {
      const area = make("textarea", { class: "mono", rows: "6", "data-key": `${path}/html` })
      area.value = content
      area.addEventListener("input", () => set(area.value.trim()))
      return make("label", {}, "HTML", area)
    }
    const change = (nodes: Parameters<typeof sourceOf>[0]) => set(sourceOf(nodes))
    return this.#keyed(richField({ label: t`Text`, nodes, isPlain: false, list: this.#list, change }), `${path}/text`)
  }

  #keyed(field: HTMLElement, key: string): HTMLElement {
    field.querySelector<HTMLElement>(".rich")!.dataset["key"] = key
    return field
  }

  #input(outline: Outline, block: Block, path: Path, { attribute, label: source, type }: BlockField): HTMLElement {
    const label = translated(source)
    const key = `${path}/${attribute}`
    const set = (value: string, name = attribute) => {
      const now = this.#now(path)
      if (now !== undefined) this.#edit(setAttribute(now.outline, now.block, name, value), true)
    }
    const own = block.attributes.find(({ name }) => name === attribute)?.value ?? ""
    const shown = shownValue(outline, block, attribute) ?? ""
    const labelled = (control: HTMLInputElement | HTMLSelectElement, read: () => string) => {
      control.dataset["key"] = key
      control.addEventListener("input", () => set(read()))
      return make("label", {}, label, control)
    }
    if (type === "align") {
      const inherited = own === "" && shown !== "" ? t`default (${shown})` : t`default`
      const options = [["", inherited], ["left", t`left`], ["center", t`center`], ["right", t`right`]] as const
      const select = make(
        "select",
        {},
        ...options.map(([value, word]) => make("option", { value, selected: value === own }, word)),
      )
      return labelled(select, () => select.value)
    }
    if (type === "color" && (shown === "" || hexOf(shown) !== undefined)) {
      const control = make("input", { type: "color", value: hexOf(shown) ?? "#ffffff" })
      return labelled(control, () => control.value)
    }
    if (type === "pixels" && (own === "" || pixelsOf(own) !== undefined)) {
      const placeholder = pixelsOf(shown) ?? shown
      const control = make("input", { type: "number", min: "0", max: "2000", value: pixelsOf(own) ?? "", placeholder })
      return labelled(control, () => control.value === "" ? "" : `${control.value}px`)
    }
    const field = this.#keyed(
      richField({
        label,
        nodes: plainOf(valueIn(own)),
        isPlain: true,
        placeholder: shown,
        list: this.#list,
        change: (nodes) => set(sourceOf(nodes)),
      }),
      key,
    )
    if (type !== "image") return field
    const choose = make("button", { type: "button", class: "button compact" }, t`Choose an image`)
    choose.addEventListener("click", () =>
      openImages(this.#place.images, ({ mjml }) => {
        set(valueIn(attributeOf(mjml, "width")), "width")
        set(valueIn(attributeOf(mjml, "src")))
        this.#show()
      }))
    return make("div", { class: "stack tight" }, make("div", {}, choose), field)
  }
}

const pathIn = ({ path = "" }: DOMStringMap): Path => path === "" ? [] : path.split(".").map(Number)
