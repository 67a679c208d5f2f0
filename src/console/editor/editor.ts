// Replaces the text areas of Liquid sources by CodeMirror. A text area stays the control of the form: the area has the text at
// any time, and sends `input` events after changes. Three events of the text area come the other way: `faults` (detail: faults
// and warnings such as `{detail: 'line 2, column 5: there is no filter "x"', isWarning: false}`), `replaced`, after a script has set its value,
// and `inserted`, whose text comes to the cursor.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionStatus } from "@codemirror/autocomplete"
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { html } from "@codemirror/lang-html"
import { liquid } from "@codemirror/lang-liquid"
import { bracketMatching, LanguageSupport, StreamLanguage, syntaxHighlighting } from "@codemirror/language"
import { setDiagnostics } from "@codemirror/lint"
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search"
import { Compartment, EditorState, Prec } from "@codemirror/state"
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view"
import { classHighlighter } from "@lezer/highlight"
import { all, controlOf, need } from "../browser/dom.ts"
import type { InsertedText } from "../browser/insertImage.ts"
import { english, translated } from "../browser/language.ts"
import { mountBlocks } from "./mountBlocks.ts"
import { Chips } from "./chips.ts"
import { completeLiquid, fieldPaths, type SuggestedNames } from "./complete.ts"
import { showPreviewBlocks } from "./previewBlocks.ts"
import { diagnosticOf, type ShownFault } from "./faults.ts"

type Settings = SuggestedNames & { readonly nonce: string }

declare global {
  interface HTMLElementEventMap {
    faults: CustomEvent<ReadonlyArray<ShownFault>>
    inserted: CustomEvent<InsertedText>
  }
}

/**
 * Leaves an open list of suggestions as it is. The package would ask for it again, and Enter, pressed while the new list is
 * awaited, would break the line. Stands before the keys of the package, which have the highest precedence.
 */
const keepSuggestions = Prec.highest(keymap.of(
  [{ key: "Ctrl-Space" }, { mac: "Alt-`" }, { mac: "Alt-i" }].map((key) => ({
    ...key,
    run: ({ state }) => completionStatus(state) === "active",
  })),
))

const plainText = new LanguageSupport(StreamLanguage.define({
  name: "text",
  token: (stream) => {
    stream.skipToEnd()
    return null
  },
}))
const htmlBase = html({ selfClosingTags: true })

/** Words of the package's own panels. */
const phrases = [
  english("Find"),
  english("Replace"),
  english("next"),
  english("previous"),
  english("all"),
  english("match case"),
  english("regexp"),
  english("by word"),
  english("replace"),
  english("replace all"),
  english("close"),
  english("Completions"),
]

/** The language of a format, with the completion of this service in place of the package's own lists. */
const languageOf = (settings: Settings, chips: Chips, format: string) => {
  const isText = format === "text"
  const base = isText ? plainText : htmlBase
  const { language } = liquid({ base })
  return [
    new LanguageSupport(language, [base.support, language.data.of({ autocomplete: completeLiquid(settings) })]),
    EditorView.editorAttributes.of({ class: isText ? "of-text" : "of-html" }),
    isText
      ? [chips.extension, EditorView.contentAttributes.of({ spellcheck: "true" })]
      : [lineNumbers(), EditorView.contentAttributes.of({ spellcheck: "false" })],
  ]
}

/** A text of one line: Enter does nothing, and pasted lines are joined. */
const oneLine = [
  EditorView.clipboardInputFilter.of((text) => text.trim().replace(/\s*[\r\n]+\s*/g, " ")),
  // Suggestions, of the highest precedence, take Enter first.
  Prec.high(keymap.of([{ key: "Enter", shift: () => true, run: () => true }])),
]

const isDark = () => {
  const { theme } = document.documentElement.dataset
  return theme === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark"
}

/** The faults that the page showed when it was loaded. */
const shownFaults = (id: string): ReadonlyArray<ShownFault> =>
  all(document, `[data-error-of="${CSS.escape(id)}"] .error`).map(({ textContent }) => ({ detail: textContent ?? "" }))

const mount = (settings: Settings, form: HTMLFormElement, area: HTMLTextAreaElement, chosen: () => void) => {
  const { id } = area
  const label = need(form, `label[for="${CSS.escape(id)}"]`)
  const select = controlOf(form, id.replace(/_source$/, "_format"))
  const language = new Compartment()
  const theme = new Compartment()
  const attributes = new Compartment()
  const attributesFor = (faults: ReadonlyArray<ShownFault>) =>
    EditorView.contentAttributes.of({
      id,
      tabindex: "0",
      "aria-labelledby": label.id,
      "aria-describedby": `editor-keys ${area.dataset["describedBy"]}`,
      ...(faults.every(({ isWarning }) => isWarning) ? {} : { "aria-invalid": "true" }),
    })
  area.dataset["describedBy"] = area.getAttribute("aria-describedby") ?? ""
  label.id = `${id}-label`
  label.removeAttribute("for")
  area.removeAttribute("id")
  area.hidden = true

  const fields = fieldPaths(settings.fields)
  const chips = new Chips(() => view, `${area.name}_names`, fields)
  let isSilent = false
  const view: EditorView = new EditorView({
    state: EditorState.create({
      doc: area.value,
      extensions: [
        EditorView.cspNonce.of(settings.nonce),
        EditorState.phrases.of(Object.fromEntries(phrases.map((phrase) => [phrase, translated(phrase)]))),
        theme.of(EditorView.darkTheme.of(isDark())),
        language.of(languageOf(settings, chips, select.value)),
        attributes.of(attributesFor([])),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        keepSuggestions,
        // Suggestions come inside of Liquid alone, where Enter has no other use, so that it takes one at once.
        autocompletion({ icons: false, interactionDelay: 0 }),
        highlightActiveLine(),
        highlightSelectionMatches(),
        search({ top: true }),
        syntaxHighlighting(classHighlighter),
        EditorView.lineWrapping,
        area.dataset["oneLine"] === undefined ? [] : oneLine,
        EditorView.perLineTextDirection.of(true),
        // Tab is not bound: it leaves the editor, as it leaves every other control.
        keymap.of([...closeBracketsKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (!docChanged || isSilent) return
          area.value = state.doc.toString()
          area.dispatchEvent(new Event("input", { bubbles: true }))
        }),
      ],
    }),
  })
  area.before(chips.tools, view.dom, chips.inspector)

  let count = 0
  const show = (faults: ReadonlyArray<ShownFault>) => {
    // A transaction drops a selection that the browser has not reported yet.
    if (faults.length === 0 && count === 0) return
    count = faults.length
    const diagnostics = faults.flatMap((fault) => diagnosticOf(view.state.doc, fault) ?? [])
    view.dispatch(setDiagnostics(view.state, diagnostics))
    view.dispatch({ effects: attributes.reconfigure(attributesFor(faults)) })
  }
  show(shownFaults(id))
  label.addEventListener("click", () => view.focus())
  area.addEventListener("faults", ({ detail }) => show(detail))
  area.addEventListener("inserted", (event) => {
    event.preventDefault()
    const { cursor, text } = event.detail
    const { from, to } = view.state.selection.main
    view.dispatch({
      changes: { from, to, insert: text },
      selection: { anchor: from + cursor },
      scrollIntoView: true,
    })
    view.focus()
  })
  area.addEventListener("replaced", () => {
    isSilent = true
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: area.value } })
    isSilent = false
  })
  const blocks = mountBlocks({
    view,
    area,
    label: label.textContent ?? "",
    fields,
    images: form.dataset["images"] ?? "",
    snippets: form.dataset["snippets"] ?? "",
    chosen,
  })
  const offer = () => {
    blocks.offer(select.value === "mjml")
    chips.tools.hidden = select.value !== "text"
  }
  offer()
  select.addEventListener("change", () => {
    view.dispatch({ effects: language.reconfigure(languageOf(settings, chips, select.value)) })
    offer()
  })
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    view.dispatch({ effects: theme.reconfigure(EditorView.darkTheme.of(isDark())) })
  })
  const name = controlOf(form, id.replace(/_source$/, "_name"))
  return { blocks, variable: () => name.value.trim() }
}

const form = document.querySelector<HTMLFormElement>("form[data-live]")
const text = document.getElementById("editor-settings")?.textContent
if (form !== null && typeof text === "string") {
  const settings: Settings = JSON.parse(text)
  const mounted = all<HTMLTextAreaElement>(form, "textarea.source")
    .map((area) => mount(settings, form, area, () => boxes.mark()))
  const boxes = showPreviewBlocks(
    need(form, ".frame-holder"),
    (variable) => mounted.find((one) => one.variable() === variable)?.blocks,
  )
  need(document, "#editor-keys").hidden = false
  // The element of the address was a text area until now.
  if (location.hash !== "") document.getElementById(location.hash.slice(1))?.focus()
}
