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

// One box for all rows of a list, and actions that appear once a row is chosen.
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
    const chosen = rows().filter((box) => box.checked).length
    form.classList.toggle("idle", chosen === 0)
    for (const button of all<HTMLButtonElement>(form, "button")) button.disabled = chosen === 0
    need(form, "[data-chosen]").textContent = counted(chosen, "template chosen:", "templates chosen:")
  }
  whole.addEventListener("change", () => {
    for (const box of rows()) box.checked = whole.checked
    update()
  })
  document.addEventListener("change", update)
  // Shift and a click choose, or leave out, all rows since the last click.
  let last: HTMLInputElement | undefined
  document.addEventListener("click", ({ shiftKey, target }) => {
    const boxes = rows()
    const at = boxes.findIndex((box) => box === target)
    if (at < 0) return
    const from = last === undefined ? -1 : boxes.indexOf(last)
    last = boxes[at]!
    if (!shiftKey || from < 0) return
    for (const box of boxes.slice(Math.min(at, from), Math.max(at, from))) box.checked = last.checked
  })
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

// The command bar: Ctrl+K, or Cmd+K on a Mac, opens it. Typing filters its links and adds matching templates, people and
// messages. The arrow keys go through the links, and Enter opens the first one, or the page of the search.
const bar = document.querySelector<HTMLDialogElement>("[data-command-bar]")
if (bar !== null && typeof bar.showModal === "function") {
  const input = need<HTMLInputElement>(bar, "input")
  const counter = need(bar, "[data-command-count]")
  const form = need<HTMLFormElement>(bar, "form")
  const list = need(bar, "[data-commands]")
  const items = all(list, "li")
  const isMac = /Mac|iP(hone|ad)/.test(navigator.platform)
  const shown = () => all(list, "li:not([hidden])")
  const count = () => {
    const found = shown()
    for (const item of all(list, ".first")) item.classList.remove("first")
    if (input.value.trim() !== "") found[0]?.classList.add("first")
    counter.textContent = input.value.trim() === ""
      ? ""
      : found.length === 0
      ? t`No matches. Enter opens the search.`
      : counted(found.length, "match. Enter opens the first one.", "matches. Enter opens the first one.")
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  const clear = () => {
    for (const item of all(list, "li")) if (!items.includes(item)) item.remove()
  }
  /** Adds the links of the page of the search, unless the text has changed since. */
  const look = async () => {
    const text = input.value.trim()
    const answer = await fetch(`${form.action}?${new URLSearchParams({ q: text })}`)
    if (!answer.ok) return
    const page = new DOMParser().parseFromString(await answer.text(), "text/html")
    if (text !== input.value.trim()) return
    // An earlier request for the same text may have added them.
    clear()
    for (const item of all(page, "[data-found] li")) {
      need(item, "a").append(...all(item, ":scope > span"))
      list.append(document.importNode(item, true))
    }
    count()
  }
  const filter = () => {
    clearTimeout(timer)
    clear()
    const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== "")
    for (const item of items) {
      const label = (need(item, "span").textContent ?? "").toLowerCase()
      item.hidden = !words.every((word) => label.includes(word))
    }
    count()
    if (bar.dataset["commandBar"] === "search" && input.value.trim().length > 1) {
      timer = setTimeout(() => void look().catch(() => undefined), 250)
    }
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
