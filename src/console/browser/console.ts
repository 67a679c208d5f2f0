// Everything works without this; it only spares a few steps.
import { all, around, need } from "./dom.ts"
import { counted, t } from "./language.ts"

/** The text that a button copies. */
const textOf = (source: HTMLElement) => source instanceof HTMLInputElement ? source.value : source.textContent ?? ""

for (const button of all(document, "[data-copy]")) {
  const id = button.dataset["copy"] ?? ""
  const source = document.getElementById(id)
  const status = document.getElementById(`${id}-status`)
  // Undefined on pages that are not served over TLS.
  const clipboard: Clipboard | undefined = navigator.clipboard
  if (source === null || clipboard === undefined) continue
  button.hidden = false
  button.addEventListener("click", async () => {
    await clipboard.writeText(textOf(source))
    if (status !== null) status.textContent = t`Copied`
  })
}

// A new link is selected, so that it can be copied with one key.
const link = document.querySelector<HTMLInputElement>("[data-select]")
link?.focus()
link?.select()

// The summary of errors is read out first.
document.querySelector<HTMLElement>("[data-focus]")?.focus()

// The message after an action: read out, closed without loading the page, and not shown again by a reload.
const toast = document.querySelector("[data-toast]")
if (toast !== null) {
  const said = need(toast, "[role=status]")
  const text = said.textContent
  const close = need<HTMLAnchorElement>(toast, "a")
  history.replaceState(history.state, "", close.href + location.hash)
  said.textContent = ""
  requestAnimationFrame(() => said.textContent = text)
  const remove = () => toast.remove()
  close.addEventListener("click", (event) => {
    event.preventDefault()
    remove()
  })
  document.addEventListener("keydown", ({ key }) => key === "Escape" && remove())
}

// Menus of rows close by Escape, by a click elsewhere, and when another one opens.
const closeMenus = (except: Element | null) => {
  for (const menu of all<HTMLDetailsElement>(document, ".row-menu[open]")) if (menu !== except) menu.open = false
}
if (document.querySelector(".row-menu") !== null) {
  document.addEventListener("click", ({ target }) => closeMenus(around(target, ".row-menu")))
  document.addEventListener("keydown", ({ key, target }) => {
    if (key !== "Escape") return
    around(target, ".row-menu")?.querySelector("summary")?.focus()
    closeMenus(null)
  })
}

// One box for all rows of a list, and buttons that do nothing until a row is chosen.
for (const label of all(document, "[data-choose-all]")) {
  const form = document.getElementById(label.dataset["chooseAll"] ?? "")
  if (!(form instanceof HTMLFormElement)) continue
  label.hidden = false
  const whole = need<HTMLInputElement>(label, "input")
  const rows = () =>
    [...form.elements].filter((box): box is HTMLInputElement =>
      box instanceof HTMLInputElement && box.type === "checkbox" && box.name !== ""
    )
  const update = () => {
    const chosen = rows().some((box) => box.checked)
    for (const button of all<HTMLButtonElement>(form, "button")) button.disabled = !chosen
  }
  whole.addEventListener("change", () => {
    for (const box of rows()) box.checked = whole.checked
    update()
  })
  document.addEventListener("change", update)
  // Going back restores chosen rows after the script has run.
  addEventListener("pageshow", update)
  update()
}

// A second click must not send a form twice. A form without an answer after 10 seconds can be sent again.
let sent = new WeakSet<HTMLFormElement>()
addEventListener("pageshow", () => sent = new WeakSet())
// Of the window, so that scripts of a form see the event first, and may send the form themselves.
addEventListener("submit", (event) => {
  const { submitter, target: form } = event
  if (event.defaultPrevented || !(form instanceof HTMLFormElement)) return
  const stays = submitter?.getAttribute("formtarget") ?? form.getAttribute("target")
  if (form.getAttribute("method") !== "post" || (stays ?? "") !== "") return
  if (sent.has(form)) return event.preventDefault()
  sent.add(form)
  setTimeout(() => sent.delete(form), 10_000)
})

// The command bar: Ctrl+K, or Cmd+K on a Mac, opens it. Typing filters its links, the arrow keys go through them, and Enter
// opens the first one that matches, or searches.
const bar = document.querySelector<HTMLDialogElement>("[data-command-bar]")
if (bar !== null && typeof bar.showModal === "function") {
  const input = need<HTMLInputElement>(bar, "input")
  const counter = need(bar, "[data-command-count]")
  const items = all(bar, "[data-commands] li")
  const isMac = /Mac|iP(hone|ad)/.test(navigator.platform)
  const shown = () => items.filter((item) => !item.hidden)
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== "")
    for (const item of items) {
      const label = (need(item, "span").textContent ?? "").toLowerCase()
      item.hidden = !words.every((word) => label.includes(word))
      item.classList.remove("first")
    }
    const found = shown()
    if (words.length > 0) found[0]?.classList.add("first")
    counter.textContent = words.length === 0
      ? ""
      : found.length === 0
      ? t`No page or action matches. Enter searches templates and people.`
      : counted(
        found.length,
        "page or action. Enter opens the first one.",
        "pages and actions. Enter opens the first one.",
      )
  }
  const open = () => {
    if (bar.open) return
    input.value = ""
    filter()
    bar.showModal()
    input.focus()
  }
  for (const key of all(document, "[data-command-key]")) {
    key.hidden = false
    if (isMac) key.textContent = "⌘ K"
  }
  for (const link of all(document, "[data-command-open]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      open()
    })
  }
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(isMac ? event.metaKey : event.ctrlKey) || event.shiftKey) return
    event.preventDefault()
    open()
  })
  input.addEventListener("input", filter)
  need(bar, "[data-command-close]").addEventListener("click", () => bar.close())
  bar.addEventListener("click", ({ target }) => target === bar && bar.close())
  bar.addEventListener("keydown", (event) => {
    const links = shown().map((item) => need<HTMLAnchorElement>(item, "a"))
    const at = links.findIndex((link) => link === document.activeElement)
    if (event.key === "ArrowDown") links[Math.min(at + 1, links.length - 1)]?.focus()
    else if (event.key === "ArrowUp") (links[at - 1] ?? input).focus()
    else if (event.key === "Enter" && event.target === input && input.value.trim() !== "" && links.length > 0) {
      links[0]?.click()
    } else return
    event.preventDefault()
  })
}
