// Shows the images of the organization in a dialog of the editor, and inserts one at the cursor. Without this script, the
// link leads to the page of the images.

import { all, around, controlOf } from "./dom.ts"
import { t } from "./language.ts"

/** A text for the cursor of a text area. */
export interface InsertedText {
  readonly text: string
  /** The place of the cursor in the text, from its start. */
  readonly cursor: number
}

/** Inserts a text at the cursor of a control, or of the editor that replaces it. The cursor comes into the empty `alt`. */
const insert = (area: HTMLTextAreaElement, text: string) => {
  const detail: InsertedText = { text, cursor: text.indexOf('alt=""') + 5 }
  if (!area.dispatchEvent(new CustomEvent("inserted", { detail, cancelable: true }))) return
  const at = area.selectionStart
  area.setRangeText(text)
  area.focus()
  area.setSelectionRange(at + detail.cursor, at + detail.cursor)
  area.dispatchEvent(new Event("input", { bubbles: true }))
}

/**
 * Shows the part `selector` of the page at `href` in a dialog, and calls `choose` with the data of the pressed button. The buttons
 * have `data-in-dialog`.
 */
export const openChoice = (href: string, label: string, selector: string, choose: (data: DOMStringMap) => void) => {
  const dialog = document.createElement("dialog")
  dialog.className = "image-dialog"
  dialog.ariaLabel = label
  document.body.append(dialog)
  dialog.addEventListener("close", () => dialog.remove())

  /** Shows a response of the page of the images, which also has the faults of an upload. */
  const show = async (response: Promise<Response>) => {
    dialog.ariaBusy = "true"
    const text = await response.then((answer) => answer.text(), () => "")
    const page = new DOMParser().parseFromString(text, "text/html")
    const part = page.querySelector(selector)
    dialog.ariaBusy = null
    if (part === null) {
      const note = document.createElement("p")
      note.className = "note bad"
      note.textContent = page.querySelector("main .card p")?.textContent ??
        t`This cannot be shown. Close this window, and try again.`
      return void dialog.prepend(note)
    }
    dialog.replaceChildren(document.importNode(part instanceof HTMLTemplateElement ? part.content : part, true))
    for (const one of all(dialog, "[data-in-dialog]")) one.hidden = false
  }

  dialog.addEventListener("submit", (event) => {
    const sent = event.target
    if (!(sent instanceof HTMLFormElement) || sent.method === "dialog") return
    event.preventDefault()
    void show(fetch(sent.action, { method: "POST", body: new FormData(sent) }))
  })
  dialog.addEventListener("click", ({ target }) => {
    const button = around(target, "button[data-in-dialog]")
    if (button === null) return
    dialog.close()
    choose(button.dataset)
  })
  dialog.showModal()
  void show(fetch(href))
}

/** Opens the images of the page at `href`, and calls `choose` with the HTML and the MJML of the chosen one. */
export const openImages = (href: string, choose: (tags: { readonly html: string; readonly mjml: string }) => void) =>
  openChoice(href, t`Images`, "[data-images]", ({ html = "", mjml = "" }) => choose({ html, mjml }))

/** Makes the links of the editor open the dialog. */
export const offerImages = (form: HTMLFormElement) =>
  form.addEventListener("click", (event) => {
    const link = around(event.target, "a[data-insert-image]")
    if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    const id = link.dataset["insertImage"]
    openImages((link as HTMLAnchorElement).href, ({ html, mjml }) =>
      insert(
        controlOf(form, `${id}_source`) as HTMLTextAreaElement,
        controlOf(form, `${id}_format`).value === "mjml" ? mjml : html,
      ))
  })
