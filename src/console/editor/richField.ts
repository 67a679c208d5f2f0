// A text of a block, shown without tags: fields of people are chips, and a toolbar makes words bold, italic or links.
import { all, around, make } from "../browser/dom.ts"
import { t } from "../browser/language.ts"
import {
  attributeOf,
  type FieldChip,
  fieldOf,
  htmlOf,
  isFieldPath,
  liquidOf,
  plainOf,
  type RichNode,
  sourceOf,
  withAttribute,
  wordsOf,
} from "../blocks/RichText.ts"

/** A text that can be edited. */
export interface RichFieldOptions {
  readonly label: string
  readonly nodes: ReadonlyArray<RichNode>
  /** Whether the text has no bold or italic words and no links, as in an attribute. */
  readonly isPlain: boolean
  /** Shown in place of an empty text. Default: nothing. */
  readonly placeholder?: string
  /** Id of the list of suggested fields. */
  readonly list: string
  readonly change: (nodes: ReadonlyArray<RichNode>) => void
}

const blocksOf = /^(?:div|h[1-6]|li|ol|p|ul)$/

/** The characters of a text with character references. The text has no tags. */
const decoded = (html: string): string => {
  const holder = document.createElement("template")
  holder.innerHTML = html.replaceAll("<", "&lt;")
  return holder.content.textContent ?? ""
}

/** The characters of an attribute's value that is written between quotation marks. Liquid stays Liquid. */
export const valueIn = (written: string): string =>
  plainOf(written).map((node) => {
    if (!("html" in node)) return sourceOf([node])
    const holder = document.createElement("template")
    holder.innerHTML = `<a title="${node.html.replaceAll('"', "&quot;")}">`
    return holder.content.querySelector("a")!.title
  }).join("")

/** Makes the element of a chip. */
export const chipOf = (liquid: string): HTMLElement =>
  make("span", {
    class: fieldOf(liquid) === undefined ? "chip other" : "chip",
    contenteditable: "false",
    tabindex: "0",
    role: "button",
    title: liquid,
    "data-liquid": liquid,
  }, wordsOf(liquid))

/** Elements of the tree. White space that a message does not show is left out. */
const elementsOf = (nodes: ReadonlyArray<RichNode>, isPlain: boolean): ReadonlyArray<Node | string> =>
  nodes.flatMap((node, index): ReadonlyArray<Node | string> => {
    if ("liquid" in node) return [chipOf(node.liquid)]
    if ("html" in node) {
      if (isPlain) return [node.html]
      const [before, after] = [nodes[index - 1], nodes[index + 1]]
      const isEdge = (one: RichNode | undefined) =>
        one !== undefined && "name" in one && (one.name === "br" || blocksOf.test(one.name))
      const text = decoded(node.html).replace(/[ \t\r\n]+/g, " ")
      return [text.slice(isEdge(before) && text.startsWith(" ") ? 1 : 0).replace(isEdge(after) ? / $/ : /$^/, "")]
    }
    const element = make(node.name as "b", { "data-tag": node.tag })
    element.append(...elementsOf(node.children, false))
    return [element]
  })

const inline: Readonly<Record<string, string>> = { b: "strong", strong: "strong", i: "em", em: "em", u: "u" }

/** The tree of edited elements. `isPlain` texts have no character references. */
const nodesOf = (parent: Node, isPlain: boolean): ReadonlyArray<RichNode> => {
  const children = [...parent.childNodes]
  const last = children.at(-1)
  // Browsers end a text that ends in a line break with a second one, so that the cursor has a line.
  const shown = last instanceof HTMLBRElement && last.dataset["tag"] === undefined ? children.slice(0, -1) : children
  return shown.flatMap((child): ReadonlyArray<RichNode> => {
    if (child instanceof Text) {
      return isPlain
        ? plainOf(child.data)
        : (child === last ? child.data.replace(/\n$/, "") : child.data).split("\n").flatMap((line, index) => [
          ...(index === 0 ? [] : [{ name: "br", tag: "<br />", children: [] }]),
          ...plainOf(htmlOf(line)),
        ])
    }
    if (!(child instanceof HTMLElement)) return []
    const { liquid, tag } = child.dataset
    // Somebody may be typing the Liquid of the chip.
    if (liquid !== undefined) return plainOf(isPlain ? liquid : htmlOf(liquid))
    const name = child.localName
    if (name === "br") return [{ name, tag: tag ?? "<br />", children: [] }]
    const inner = nodesOf(child, isPlain)
    if (isPlain) return inner
    if (tag !== undefined) return [{ name, tag, children: inner }]
    if (Object.hasOwn(inline, name)) return [{ name: inline[name]!, tag: `<${inline[name]}>`, children: inner }]
    if (name === "a") return [{ name, tag: withAttribute("<a>", "href", child.title), children: inner }]
    return inner
  })
}

/** Makes an input of an inspector with its label. */
const inputOf = (label: string, value: string, set: (value: string) => void, attributes = {}) => {
  const control = make("input", { type: "text", value, autocomplete: "off", ...attributes })
  control.addEventListener("input", () => set(control.value))
  return make("label", {}, label, control)
}

/** Makes a small button. The selection in a text stays when a pointer presses the button. */
export const toolOf = (word: string, run: () => void, attributes = {}): HTMLButtonElement => {
  const button = make("button", { type: "button", class: "button compact", ...attributes }, word)
  button.addEventListener("mousedown", (event) => event.preventDefault())
  button.addEventListener("click", run)
  return button
}

/** Makes the inputs for the Liquid of a chip. `list`: id of the list of suggested fields. */
export const liquidInputs = (
  liquid: string,
  list: string,
  set: (liquid: string) => void,
): ReadonlyArray<HTMLElement> => {
  const field = fieldOf(liquid)
  if (field === undefined) return [inputOf("Liquid", liquid, set, { class: "mono" })]
  let now = field
  const fault = make("p", { class: "error", role: "alert", hidden: true })
  const change = (part: Partial<FieldChip>) => {
    now = { ...now, ...part }
    set(liquidOf(now))
  }
  const rename = (value: string) => {
    const path = value.trim()
    fault.hidden = isFieldPath(path)
    if (fault.hidden) change({ path })
    else {
      fault.textContent =
        t`The name of a field begins with a letter and has no spaces, as in first_name or cart.total. The text keeps ${now.path}.`
    }
  }
  return [
    inputOf(t`Field`, field.path, rename, { list }),
    inputOf(t`Text if it is missing`, field.fallback, (value) => change({ fallback: value.trim() })),
    fault,
  ]
}

/** The inputs for the chip or the link at the cursor. */
const inspect = (
  target: HTMLElement,
  { list }: RichFieldOptions,
  changed: () => void,
): ReadonlyArray<HTMLElement> => {
  const { liquid } = target.dataset
  const remove = toolOf(t`Remove`, () => {
    if (liquid === undefined) target.replaceWith(...target.childNodes)
    else target.remove()
    changed()
  })
  if (liquid === undefined) {
    const href = valueIn(attributeOf(target.dataset["tag"] ?? "", "href")) || target.title
    const set = (value: string) => {
      if (target.dataset["tag"] === undefined) target.title = value
      else target.dataset["tag"] = withAttribute(target.dataset["tag"], "href", value)
      changed()
    }
    return [inputOf(t`Link to`, href, set), remove]
  }
  const set = (value: string) => {
    target.dataset["liquid"] = target.title = value
    target.textContent = wordsOf(value)
    changed()
  }
  return [...liquidInputs(liquid, list, set), remove]
}

/** Makes the field of a text with its toolbar. */
export const richField = (options: RichFieldOptions): HTMLElement => {
  const { isPlain, label, nodes, placeholder = "" } = options
  const box = make("div", {
    class: "rich",
    contenteditable: "true",
    role: "textbox",
    "aria-multiline": isPlain ? "false" : "true",
    "aria-label": label,
    "aria-placeholder": placeholder,
    dir: "auto",
  })
  box.append(...elementsOf(nodes, isPlain))
  const inspector = make("div", { class: "inspector", hidden: true })
  const changed = () => options.change(nodesOf(box, isPlain))
  const open = (target: HTMLElement) => {
    for (const chip of all(box, ".chip")) chip.classList.toggle("chosen", chip === target)
    inspector.replaceChildren(...inspect(target, options, () => {
      if (!target.isConnected) inspector.hidden = true
      changed()
    }))
    inspector.hidden = false
  }
  const command = (name: string, value?: string) => {
    box.focus()
    // Deprecated, and the only way to edit text that all browsers have.
    document.execCommand(name, false, value)
  }
  box.addEventListener("input", changed)
  box.addEventListener("click", ({ target }) => {
    const found = around(target, ".chip, a")
    if (found === null) inspector.hidden = true
    else open(found)
  })
  box.addEventListener("keydown", (event) => {
    const chip = around(event.target, ".chip")
    if (event.key !== "Enter") return
    event.preventDefault()
    if (chip !== null) {
      open(chip)
      inspector.querySelector("input")?.focus()
    } else if (!isPlain) command("insertLineBreak")
  })
  box.addEventListener("paste", (event) => {
    event.preventDefault()
    const text = event.clipboardData?.getData("text/plain") ?? ""
    if (isPlain) return command("insertText", text.replace(/\s+/g, " "))
    // Browsers insert the lines of a text as elements.
    for (const [index, line] of text.split(/\r?\n/).entries()) {
      if (index > 0) command("insertLineBreak")
      command("insertText", line)
    }
  })
  box.addEventListener("drop", (event) => event.preventDefault())

  const tool = (word: string, name: string, run: () => void) => toolOf(word, run, { "aria-label": name, title: name })
  const insertField = () => {
    const chip = chipOf("{{ first_name }}")
    const selection = getSelection()
    const range = selection?.rangeCount && box.contains(selection.anchorNode) ? selection.getRangeAt(0) : undefined
    if (range === undefined) box.append(chip)
    else {
      range.deleteContents()
      range.insertNode(chip)
      range.collapse()
    }
    changed()
    open(chip)
    inspector.querySelector("input")?.select()
  }
  const link = () => {
    const selection = getSelection()
    if (selection === null || selection.isCollapsed || !box.contains(selection.anchorNode)) return
    const anchor = make("a", { title: "https://" })
    const range = selection.getRangeAt(0)
    anchor.append(range.extractContents())
    range.insertNode(anchor)
    changed()
    open(anchor)
    inspector.querySelector("input")?.focus()
  }
  return make(
    "div",
    { class: "rich-field" },
    make(
      "div",
      { class: "rich-head" },
      make("span", {}, label),
      make(
        "span",
        { class: "rich-tools" },
        ...(isPlain ? [] : [
          tool(t`B`, t`Bold`, () => command("bold")),
          tool(t`I`, t`Italic`, () => command("italic")),
          tool(t`Link`, t`Link the selected words`, link),
        ]),
        tool(t`Field`, t`Insert a field of the person`, insertField),
      ),
    ),
    box,
    inspector,
  )
}
